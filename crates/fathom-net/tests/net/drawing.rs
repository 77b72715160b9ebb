//! The drawing in the guide is what the engine draws: the page of a cached disk, with its marking.
//!
//! `FATHOM_BLESS=1 cargo test -p fathom-net --test drawing` writes it anew.

use std::fs;

use fathom_net::{Drawing, Net, NetBuilder, NetError, Simulation, Span, Time};

/// A reader of random pages before a disk with a cache.
fn reader() -> Result<Net, NetError> {
    let mut net = NetBuilder::new("reader");
    let (ready, wanted, found) = (net.place("ready"), net.place::<(u64, Time)>("wanted"), net.place("found"));
    net.initial(ready, [()]);
    net.transition("ask")
        .consume(ready, 1)
        .output(wanted, |_, firing| (firing.rng().below(10), firing.now()))
        .add();
    net.module("storage", |module| {
        let (wanted, found) = (module.port_in(wanted), module.port_out(found));
        let (pages, free) = (module.place::<u64>("pages"), module.place("free"));
        let (missing, fetched) = (module.place("missing"), module.place("fetched"));
        let by_number = module.index(pages, |page| *page);
        module.initial(free, [(); 8]);
        module
            .transition("hit")
            .input(wanted)
            .input_by(by_number, |(read,)| read.0)
            .delay_by(|_, _| Span::ticks(10))
            .output(pages, |(_, page), _| *page)
            .output(found, |(read, _), _| *read)
            .add();
        module
            .transition("miss")
            .input(wanted)
            .inhibit_by(by_number, |(read,)| read.0)
            .output(missing, |(read,), _| *read)
            .add();
        module.module("disk", |module| {
            let (wanted, found) = (module.port_in(missing), module.port_out(fetched));
            let seek = module.transition("seek").input(wanted);
            let seek = seek.delay_by(|_, rng| Span::ticks(2_000 + rng.below(6_000)));
            seek.output(found, |(read,), _| *read).add();
        });
        module
            .transition("keep")
            .input(fetched)
            .consume(free, 1)
            .output(pages, |(read,), _| read.0)
            .output(found, |(read,), _| *read)
            .add();
        module.transition("evict").inhibit(free, 1).input(pages).produce(free, 1).add();
    });
    net.transition("use").input(found).produce(ready, 1).add();
    net.build()
}

#[test]
fn the_guide_shows_what_is_drawn() -> Result<(), NetError> {
    let net = reader()?;
    let mut sim = Simulation::new(&net, 7);
    sim.run_while(|sim| sim.now() < Time::ticks(30_000));
    let page = Drawing::page(&net, "storage").expect("the module").with_marking(&sim);
    let flat = Drawing::flat(&net).with_marking(&sim);
    for (name, drawn) in [
        ("net-storage.svg", page.to_svg()),
        ("net-storage.dot", page.to_dot()),
        ("net-reader.dot", flat.to_dot()),
    ] {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("FATHOM_BLESS").is_some() {
            fs::write(&path, &drawn).expect("the guide's folder can be written");
        }
        let shown = fs::read_to_string(&path).unwrap_or_default();
        assert!(shown == drawn, "docs/{name} is out of date; run with FATHOM_BLESS=1");
    }
    Ok(())
}
