//! The pages in a real browser: every figure is drawn, answers to mouse and keys, and nothing leaves the page.
//!
//! Without Chromium these tests say `skipped: NAME: reason`; with `FATHOM_REQUIRE=all` in the environment
//! they fail instead.

mod browser;
mod results;
mod surveyed;
mod used;

use std::fs;
use std::time::Duration;

use browser::Browser;
use fathom::report::Colours;
use fathom::results::{check_free, keep, open};
use fathom_scripted::support::{TestDirectory, require};
use serde_json::json;
use surveyed::{hostile_survey, page};

/// What a page may hold: one that opens at once, and that a mail can carry.
const MOST_BYTES: usize = 1_000_000;

fn is_skipped(test: &str) -> bool {
    !require(test, browser::is_there(), "chromium is missing: install Debian's chromium")
}

/// The hostile survey's page in a place of its own.
fn written(test: &str) -> (TestDirectory, std::path::PathBuf) {
    let place = TestDirectory::new(&format!("pages-{test}"));
    let file = place.join("report.html");
    let (survey, answers) = hostile_survey();
    fs::write(&file, page(&survey, &answers)).unwrap();
    (place, file)
}

/// Figures in which nothing is drawn.
fn empty_figures(browser: &mut Browser) -> serde_json::Value {
    browser.value(
        "[...document.querySelectorAll('figure[data-figure]')].filter(one => \
         ![...one.querySelectorAll('.trace')]\
         .some(trace => (r => Math.max(r.width, r.height) > 5)(trace.getBoundingClientRect()))).map(one => one.id)",
    )
}

/// Nothing hostile has run, nothing is wider than the window, nothing complained, and nothing left the page.
fn is_sound(browser: &mut Browser, name: &str, width: u32) {
    assert_eq!(browser.value("window.intruded === undefined"), json!(true), "{name}");
    let overflow = browser
        .value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        .as_f64()
        .unwrap();
    assert!(overflow <= 0.0, "{name}: {width}: wider than the window by {overflow}");
    browser.value("scrollTo(0, 0)");
    browser.picture(name);
    assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
    assert_eq!(browser.requests(), Vec::<String>::new(), "{name}");
}

#[test]
fn the_page_of_every_command_is_drawn_in_light_dark_and_narrow() {
    if is_skipped("the_page_of_every_command_is_drawn_in_light_dark_and_narrow") {
        return;
    }
    let place = TestDirectory::new("pages-drawn");
    let mut browser = Browser::start(1200, 900, "light");
    for (width, scheme) in [(1200, "light"), (1200, "dark"), (400, "light")] {
        browser.looks_like(width, 900, scheme);
        for (command, html) in results::pages() {
            let file = place.join(&format!("{command}.html"));
            fs::write(&file, html).unwrap();
            let figures = browser.open(&file);
            let name = format!("{command}-{scheme}-{width}");
            assert!(figures >= 1, "{name}");
            assert_eq!(empty_figures(&mut browser), json!([]), "{name}");
            is_sound(&mut browser, &name, width);
        }
    }
}

#[test]
fn every_kind_of_page_is_below_a_megabyte() {
    let (survey, answers) = hostile_survey();
    for (command, html) in results::pages().iter().chain(&[("survey", page(&survey, &answers))]) {
        assert!(html.len() <= MOST_BYTES, "{command}: {} bytes", html.len());
    }
}

#[test]
fn every_page_is_the_same_again_from_its_folder_alone() {
    let place = TestDirectory::new("pages-folders");
    for (command, result) in results::all(&place) {
        let (folder, html) = (place.join(command), result.page());
        check_free(&folder).unwrap();
        let page = keep(&folder, &*result).unwrap();
        assert_eq!(fs::read_to_string(page).unwrap(), html, "{command}");
        let again = open(&folder).unwrap();
        let made = again.page();
        let differ = made.bytes().zip(html.bytes()).position(|(a, b)| a != b);
        assert!(
            made == html,
            "{command}: another page: {:?}",
            differ.map(|at| &made[at.saturating_sub(99)..][..150])
        );
        assert_eq!(again.text(Colours::Off), result.text(Colours::Off), "{command}");
        assert!(check_free(&folder).is_err(), "{command}: it would be written over");
    }
}

#[test]
fn every_figure_of_every_command_answers_to_mouse_and_buttons() {
    if is_skipped("every_figure_of_every_command_answers_to_mouse_and_buttons") {
        return;
    }
    let place = TestDirectory::new("pages-answering");
    let mut browser = Browser::start(1200, 900, "light");
    for (command, html) in results::pages() {
        let file = place.join(&format!("{command}.html"));
        fs::write(&file, html).unwrap();
        for at in 0..browser.open(&file) {
            let chart = format!("document.querySelectorAll('figure[data-figure] .chart')[{at}]");
            let name = format!("{command}, figure {at}");
            assert!(hovers_somewhere(&mut browser, &chart), "{name}: no text over any of its points");
            let range = format!("{chart}.state.range.x");
            let before = browser.value(&range);
            browser.value(&format!("{chart}.closest('figure').querySelector('[data-act=in]').click(), true"));
            browser.until(&format!("String({range}) !== '{}'", joined(&before)));
            browser
                .value(&format!("{chart}.closest('figure').querySelector('[data-act=reset]').click(), true"));
            browser.until(&format!("String({range}) === '{}'", joined(&before)));
        }
        let widened = browser.value(
            "[...document.querySelectorAll('details')].forEach(one => one.open = true),\
             [...document.querySelectorAll('figure.drawing')].every(one => {\
               const svg = one.querySelector('svg'), before = svg.getBoundingClientRect().width;\
               one.querySelector('[data-act=wider]').click();\
               return svg.getBoundingClientRect().width > before;\
             })",
        );
        assert_eq!(widened, json!(true), "{command}: a drawing does not grow");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{command}");
    }
}

/// As JavaScript joins the numbers of a list.
fn joined(numbers: &serde_json::Value) -> String {
    numbers.as_array().unwrap().iter().map(|one| one.to_string()).collect::<Vec<_>>().join(",")
}

/// Whether pointing at one of a chart's points shows a text.
fn hovers_somewhere(browser: &mut Browser, chart: &str) -> bool {
    browser.value(&format!("{chart}.scrollIntoView({{block: 'center'}}), true"));
    // Where the page itself says that its points are.
    let points = browser.value(&format!(
        "(chart => {{\
           const {{ hits, area }} = chart.state, frame = chart.getBoundingClientRect();\
           return hits.filter(hit => !hit.behind).map(({{ place: [x, y, x2, y2] }}) => [(x + x2) / 2, (y + y2) / 2])\
             .filter(([x, y]) => x >= area.left && x <= area.right && y >= area.top && y <= area.bottom)\
             .map(([x, y]) => [frame.x + x, frame.y + y]);\
         }})({chart})"
    ));
    let points = points.as_array().unwrap();
    let every = points.len().div_ceil(12).max(1);
    points.iter().step_by(every).any(|point| {
        let at = [point[0].as_f64().unwrap(), point[1].as_f64().unwrap()];
        // Pointing is a movement.
        (0..3).any(|nudge| {
            browser.mouse("mouseMoved", [at[0] + f64::from(nudge), at[1] + 1.0]);
            std::thread::sleep(Duration::from_millis(40));
            browser.value(&format!("!{chart}.querySelector('.hover').hidden")) == json!(true)
        })
    })
}

#[test]
fn every_figure_is_drawn_in_light_dark_and_narrow_and_nothing_else_happens() {
    if is_skipped("every_figure_is_drawn_in_light_dark_and_narrow_and_nothing_else_happens") {
        return;
    }
    let (_place, file) = written("drawn");
    let mut browser = Browser::start(1200, 900, "light");
    for (width, scheme) in [(1200, "light"), (1200, "dark"), (400, "light")] {
        browser.looks_like(width, 900, scheme);
        let figures = browser.open(&file);
        assert!(figures >= 10, "{figures}");
        assert_eq!(empty_figures(&mut browser), json!([]), "{scheme} {width}");
        assert_eq!(browser.value("document.title.includes('</script>')"), json!(true), "shown as text");
        is_sound(&mut browser, &format!("survey-{scheme}-{width}"), width);
    }
}

/// Where a share of the first chart's frame is in the window.
fn inside(browser: &mut Browser, [x, y]: [f64; 2]) -> [f64; 2] {
    let area = browser.value(
        "(chart => {\
           const { left, right, top, bottom } = chart.state.area, frame = chart.getBoundingClientRect();\
           return [frame.x + left, frame.y + top, right - left, bottom - top];\
         })(document.querySelector('.chart'))",
    );
    let at = |index: usize| area[index].as_f64().unwrap();
    [at(0) + x * at(2), at(1) + y * at(3)]
}

fn frame(browser: &mut Browser) -> [f64; 2] {
    let range = browser.value("document.querySelector('.chart').state.range.x");
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
        hovers |= browser.value("!document.querySelector('.hover').hidden") == json!(true);
    }
    assert!(hovers, "no text near the line");

    let (from, to) = (inside(&mut browser, [0.25, 0.3]), inside(&mut browser, [0.5, 0.8]));
    browser.drag(from, to);
    let width = first[1] - first[0];
    browser.until(&format!(
        "(r => r[1] - r[0] < {})(document.querySelector('.chart').state.range.x)",
        0.5 * width
    ));
    press(&mut browser, "reset");
    browser.until(&format!(
        "Math.abs(document.querySelector('.chart').state.range.x[1] - {}) < {}",
        first[1],
        width / 1e6
    ));

    browser.value("document.querySelector('.chart').focus(), true");
    for kind in ["keyDown", "keyUp"] {
        browser.ask("Input.dispatchKeyEvent", json!({"type": kind, "key": "+", "text": "+"}));
    }
    browser.until(&format!(
        "(r => r[1] - r[0] < {})(document.querySelector('.chart').state.range.x)",
        0.6 * width
    ));

    let kind = "document.querySelector('.chart').state.y";
    let before = browser.value(kind);
    press(&mut browser, "log-y");
    browser.until(&format!("{kind} !== {before}"));
    let pressed = browser.value("document.querySelector('[data-act=log-y]').getAttribute('aria-pressed')");
    assert_eq!(pressed == json!("true"), before == json!(false));

    // The first entry of the legend hides its series, and shows it again.
    let traces = "document.querySelector('.chart').querySelectorAll('.trace').length";
    let before = browser.value(traces).as_u64().unwrap();
    for expected in [before - 1, before] {
        let entry = browser.value(
            "(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.legend').getBoundingClientRect())",
        );
        let at = [0, 1].map(|axis: usize| entry[axis].as_f64().unwrap());
        ["mousePressed", "mouseReleased"].iter().for_each(|kind| browser.mouse(kind, at));
        browser.until(&format!("{traces} === {expected}"));
    }

    browser.value("document.querySelector('.numbers').open = true");
    browser.until("document.querySelectorAll('.numbers tr').length > 30");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_million_readings_fit_into_a_megabyte_and_each_experiment_is_told_of() {
    let (survey, mut answers) = hostile_survey();
    let many = surveyed::many_readings();
    assert!(many.readings.len() >= 1_000_000, "{}", many.readings.len());
    for answer in &mut answers {
        if answer.finding.parameter == "readahead_window" {
            answer.runs.push(many.clone());
        }
    }
    let html = page(&survey, &answers);
    assert!(html.len() <= MOST_BYTES, "{} bytes", html.len());
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
    let place = TestDirectory::new("pages-scrolled");
    let file = place.join("report.html");
    fs::write(&file, page(&survey, &answers)).unwrap();
    let mut browser = Browser::start(1200, 900, "light");
    browser.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
    browser.until("document.readyState === 'complete' && document.querySelectorAll('.chart svg').length > 0");
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

#[test]
#[ignore = "it measures: run it on a machine with nothing else to do"]
fn the_page_of_every_command_opens_within_a_second() {
    if is_skipped("the_page_of_every_command_opens_within_a_second") {
        return;
    }
    let place = TestDirectory::new("pages-opened");
    let mut browser = Browser::start(1200, 900, "light");
    let (survey, answers) = hostile_survey();
    for (command, html) in results::pages().iter().chain(&[("survey", page(&survey, &answers))]) {
        let file = place.join(&format!("{command}.html"));
        fs::write(&file, html).unwrap();
        // The medians of the load event, and of the moment at which all figures are drawn.
        let mut times: Vec<[f64; 2]> = (0..7).map(|_| opened(&mut browser, &file)).collect();
        let [loaded, drawn] = [0, 1].map(|which| {
            times.sort_by(|a, b| a[which].total_cmp(&b[which]));
            times[3][which]
        });
        let line = format!("{command}: {} bytes, loaded {loaded:.0} ms, drawn {drawn:.0} ms\n", html.len());
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        assert!(drawn < 1000.0, "{line}");
    }
}

/// When a page that is opened anew has loaded and when all of its figures are there, in ms since it was asked for.
fn opened(browser: &mut Browser, file: &std::path::Path) -> [f64; 2] {
    browser.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
    browser.until("document.readyState === 'complete'");
    let times = browser.value(
        "new Promise(done => {\
           const look = () => {\
             const loaded = performance.getEntriesByType('navigation')[0].loadEventEnd;\
             const drawn = [...document.querySelectorAll('.chart')].every(chart => chart.querySelector('svg'));\
             if (loaded > 0 && drawn) done([loaded, performance.now()]); else requestAnimationFrame(look);\
           };\
           look();\
         })",
    );
    [0, 1].map(|which| times[which].as_f64().unwrap())
}
