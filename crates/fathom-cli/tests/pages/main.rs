//! The pages in a real browser: every figure is drawn, answers to mouse and keys, and nothing leaves the page.
//!
//! Without Chromium these tests say `skipped: NAME: reason`; with `FATHOM_REQUIRE=all` in the environment
//! they fail instead.

mod browser;
mod surveyed;

use std::fs;
use std::time::{Duration, Instant};

use browser::Browser;
use serde_json::json;
use surveyed::{Place, hostile_survey, page};

fn is_skipped(test: &str) -> bool {
    if browser::is_there() {
        return false;
    }
    let all = std::env::var("FATHOM_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!all, "{test}: chromium is missing");
    // The harness swallows what a passing test prints unless it is written past it.
    let line = format!("skipped: {test}: chromium is missing: install Debian's chromium\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    true
}

/// The hostile survey's page in a place of its own.
fn written(test: &str) -> (Place, std::path::PathBuf) {
    let place = Place::new(test);
    let file = place.join("report.html");
    let (survey, answers) = hostile_survey();
    fs::write(&file, page(&survey, &answers)).unwrap();
    (place, file)
}

#[test]
fn every_figure_is_drawn_in_light_dark_and_narrow_and_nothing_else_happens() {
    if is_skipped("every_figure_is_drawn_in_light_dark_and_narrow_and_nothing_else_happens") {
        return;
    }
    let (_place, file) = written("drawn");
    for (width, scheme) in [(1200, "light"), (1200, "dark"), (400, "light")] {
        let mut browser = Browser::start(width, 900, scheme);
        let figures = browser.open(&file);
        assert!(figures >= 10, "{figures}");
        let empty = browser.value(
            "[...document.querySelectorAll('figure')].filter(one => ![...one.querySelectorAll('.scatterlayer .trace')]\
             .some(trace => trace.getBoundingClientRect().width > 20)).map(one => one.id)",
        );
        assert_eq!(empty, json!([]), "{scheme} {width}");
        assert_eq!(browser.value("document.title.includes('</script>')"), json!(true), "told as text");
        assert_eq!(browser.value("window.intruded === undefined"), json!(true));
        let overflow = browser.value("document.documentElement.scrollWidth - innerWidth").as_f64().unwrap();
        assert!(overflow <= 0.0, "{width}: wider than the window by {overflow}");
        browser.value("scrollTo(0, 0)");
        browser.picture(&format!("{scheme}-{width}"));
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{scheme} {width}");
        assert_eq!(browser.requests(), Vec::<String>::new(), "{scheme} {width}");
    }
}

/// Where a share of the first chart's frame is in the window.
fn inside(browser: &mut Browser, [x, y]: [f64; 2]) -> [f64; 2] {
    let area = browser.value(
        "(() => { const r = document.querySelector('.chart .nsewdrag').getBoundingClientRect();\
         return [r.x, r.y, r.width, r.height]; })()",
    );
    let at = |index: usize| area[index].as_f64().unwrap();
    [at(0) + x * at(2), at(1) + y * at(3)]
}

fn frame(browser: &mut Browser) -> [f64; 2] {
    let range = browser.value("document.querySelector('.chart')._fullLayout.xaxis.range.map(Number)");
    [range[0].as_f64().unwrap(), range[1].as_f64().unwrap()]
}

fn press(browser: &mut Browser, act: &str) {
    browser.value(&format!("document.querySelector('[data-act={act}]').click(), true"));
}

#[test]
fn hover_zoom_keys_and_switches_work() {
    if is_skipped("hover_zoom_keys_and_switches_work") {
        return;
    }
    let (_place, file) = written("used");
    let mut browser = Browser::start(1200, 900, "light");
    browser.open(&file);
    browser.value("document.querySelector('figure').scrollIntoView(), true");
    let first = frame(&mut browser);

    let start = inside(&mut browser, [0.5, 0.5]);
    browser.mouse("mouseMoved", start);
    let mut hovers = false;
    for step in 0..60 {
        let at = inside(&mut browser, [0.3 + f64::from(step) * 0.005, 0.93]);
        browser.mouse("mouseMoved", at);
        std::thread::sleep(Duration::from_millis(20));
        hovers |= browser.value("!!document.querySelector('.hoverlayer .hovertext')") == json!(true);
    }
    assert!(hovers, "no text near the line");

    let (from, to) = (inside(&mut browser, [0.25, 0.3]), inside(&mut browser, [0.5, 0.8]));
    browser.drag(from, to);
    let width = first[1] - first[0];
    browser.until(&format!(
        "(r => r[1] - r[0] < {})(document.querySelector('.chart')._fullLayout.xaxis.range)",
        0.5 * width
    ));
    press(&mut browser, "reset");
    browser.until(&format!(
        "Math.abs(document.querySelector('.chart')._fullLayout.xaxis.range[1] - {}) < {}",
        first[1],
        width / 1e6
    ));

    browser.value("document.querySelector('.chart').focus(), true");
    for kind in ["keyDown", "keyUp"] {
        browser.ask("Input.dispatchKeyEvent", json!({"type": kind, "key": "+", "text": "+"}));
    }
    browser.until(&format!(
        "(r => r[1] - r[0] < {})(document.querySelector('.chart')._fullLayout.xaxis.range)",
        0.6 * width
    ));

    let kind = "document.querySelector('.chart')._fullLayout.yaxis.type";
    let before = browser.value(kind);
    press(&mut browser, "log-y");
    browser.until(&format!("{kind} !== {before}"));
    let pressed = browser.value("document.querySelector('[data-act=log-y]').getAttribute('aria-pressed')");
    assert_eq!(pressed == json!("true"), before == json!("linear"));

    browser.value("document.querySelector('.numbers').open = true");
    browser.until("document.querySelectorAll('.numbers tr').length > 30");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn figures_are_saved_as_svg_and_png_and_printed_as_a_whole() {
    if is_skipped("figures_are_saved_as_svg_and_png_and_printed_as_a_whole") {
        return;
    }
    let (place, file) = written("saved");
    let mut browser = Browser::start(1200, 900, "dark");
    browser.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
    browser.until("document.readyState === 'complete' && typeof Plotly === 'object'");
    // Nothing has been scrolled: printing must draw what was never in sight.
    let printed = browser.ask("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi"), "no PDF");
    browser.until("[...document.querySelectorAll('figure')].every(one => one.dataset.drawn === 'yes')");

    let down = json!({"behavior": "allow", "downloadPath": place.join(".")});
    browser.ask("Browser.setDownloadBehavior", down);
    for (act, head) in [("svg", &b"<svg"[..]), ("png", &b"\x89PNG"[..])] {
        press(&mut browser, act);
        let started = Instant::now();
        let saved = || {
            let files = fs::read_dir(place.join(".")).unwrap().flatten().map(|entry| entry.path());
            files
                .filter(|path| path.extension().is_some_and(|kind| kind == act))
                .find_map(|path| fs::read(path).ok())
        };
        while !saved().is_some_and(|bytes| bytes.starts_with(head)) {
            assert!(started.elapsed() < Duration::from_secs(60), "{act} was not saved");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests(), Vec::<String>::new());
}

#[test]
fn a_million_readings_fit_into_six_megabytes_and_each_experiment_is_told_of() {
    let (survey, mut answers) = hostile_survey();
    let many = surveyed::many_readings();
    assert!(many.readings.len() >= 1_000_000, "{}", many.readings.len());
    for answer in &mut answers {
        if answer.finding.parameter == "readahead_window" {
            answer.runs.push(many.clone());
        }
    }
    let html = page(&survey, &answers);
    assert!(html.len() <= 6_000_000, "{} bytes", html.len());
    for finding in &survey.findings {
        assert!(html.contains(&format!("<h3 id=\"{}\">", finding.parameter)), "{}", finding.parameter);
    }
    assert!(html.contains("neighbouring places the quickest and the slowest are drawn"));
}

/// How long frames take while the page runs past, in ms, ascending: what a reader feels as a stall.
fn frames(browser: &mut Browser) -> Vec<f64> {
    browser.value("scrollTo(0, 0)");
    let times = browser.value(
        "new Promise(done => {\
           const times = [];\
           let last = performance.now();\
           const step = now => {\
             times.push(now - last);\
             last = now;\
             scrollBy(0, 40);\
             const end = document.documentElement.scrollHeight - innerHeight - 2;\
             if (scrollY >= end) done(times); else requestAnimationFrame(step);\
           };\
           requestAnimationFrame(step);\
         })",
    );
    let mut times: Vec<f64> = times.as_array().unwrap().iter().filter_map(|time| time.as_f64()).collect();
    times.sort_by(f64::total_cmp);
    times
}

#[test]
#[ignore = "it measures: run it on a machine with nothing else to do"]
fn a_page_of_a_million_readings_scrolls_without_stalls() {
    if is_skipped("a_page_of_a_million_readings_scrolls_without_stalls") {
        return;
    }
    let (survey, mut answers) = hostile_survey();
    for answer in &mut answers {
        if answer.finding.parameter == "readahead_window" {
            answer.runs.push(surveyed::many_readings());
        }
    }
    let place = Place::new("scrolled");
    let file = place.join("report.html");
    fs::write(&file, page(&survey, &answers)).unwrap();
    let mut browser = Browser::start(1200, 900, "light");
    browser.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
    browser.until("document.readyState === 'complete' && typeof Plotly === 'object'");
    for what in ["drawn on the way", "drawn already"] {
        let times = frames(&mut browser);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let line = format!(
            "{what}: {} frames, median {:.0} ms, 99 % {:.0} ms, longest {:.0} ms\n",
            times.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        assert!(at(1.0) < 200.0, "{line}");
    }
}
