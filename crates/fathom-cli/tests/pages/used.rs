//! Every figure of every page in use: switches, keys, the table of numbers, saving and paper.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::Browser;
use crate::surveyed::{hostile_survey, page};
use crate::{empty_figures, is_skipped, joined, results};
use fathom_scripted::support::TestDirectory;

/// The pages of all commands, written to a place, with their names.
fn written(place: &TestDirectory) -> Vec<(String, std::path::PathBuf)> {
    let (survey, answers) = hostile_survey();
    let pages = results::pages().iter();
    pages
        .chain(&[("survey", page(&survey, &answers))])
        .map(|(name, html)| {
            let file = place.join(&format!("{name}.html"));
            fs::write(&file, html).unwrap();
            ((*name).to_owned(), file)
        })
        .collect()
}

fn chart(at: u64) -> String {
    format!("document.querySelectorAll('figure[data-figure] .chart')[{at}]")
}

/// Presses a figure's switch of an axis, where it has one, and presses it again; gives how many it has.
fn switches(browser: &mut Browser, at: u64, axis: &str) -> usize {
    let chart = chart(at);
    let button = format!("{chart}.closest('figure').querySelector('[data-act=log-{axis}]')");
    if browser.value(&format!("!!{button}")) != json!(true) {
        return 0;
    }
    let kind = format!("{chart}.state.{axis}");
    let first = browser.value(&kind);
    for changed in [true, false] {
        browser.value(&format!("{button}.click(), true"));
        let relation = if changed { "!==" } else { "===" };
        browser.until(&format!("{kind} {relation} {first}"));
        let pressed = browser.value(&format!("{button}.getAttribute('aria-pressed') === 'true'"));
        assert_eq!(pressed, json!((first == json!(true)) != changed), "figure {at}, {axis}");
        assert_eq!(empty_figures(browser), json!([]), "figure {at}, {axis}");
    }
    1
}

fn press(browser: &mut Browser, key: &str) {
    let code = match key {
        "+" | "-" | "0" => json!({"key": key, "text": key}),
        _ => json!({"key": key, "code": key}),
    };
    for kind in ["keyDown", "keyUp"] {
        let mut event = code.clone();
        event["type"] = json!(kind);
        browser.ask("Input.dispatchKeyEvent", event);
    }
}

/// The keys change what they should and back again.
fn answers_to_keys(browser: &mut Browser, at: u64) {
    let chart = chart(at);
    browser.value(&format!("{chart}.scrollIntoView({{block: 'center'}}), {chart}.focus(), true"));
    let range = |axis: &str| format!("String({chart}.state.range.{axis})");
    let first = ["x", "y"].map(|axis| browser.value(&format!("{chart}.state.range.{axis}")));
    for (key, axis) in [("+", "x"), ("-", "x"), ("ArrowRight", "x"), ("ArrowUp", "y")] {
        let before = browser.value(&format!("{chart}.state.range.{axis}"));
        press(browser, key);
        browser.until(&format!("{} !== '{}'", range(axis), joined(&before)));
    }
    press(browser, "0");
    browser.until(&format!(
        "{} === '{}' && {} === '{}'",
        range("x"),
        joined(&first[0]),
        range("y"),
        joined(&first[1])
    ));
}

#[test]
fn every_figure_is_switched_by_buttons_moved_by_keys_and_told_in_numbers() {
    if is_skipped("every_figure_is_switched_by_buttons_moved_by_keys_and_told_in_numbers") {
        return;
    }
    let place = TestDirectory::new("pages-switched");
    let mut browser = Browser::start(1200, 900, "light");
    let mut switched = 0;
    for (name, file) in written(&place) {
        let figures = browser.open(&file);
        for at in 0..figures {
            switched += ["x", "y"].map(|axis| switches(&mut browser, at, axis)).iter().sum::<usize>();
            answers_to_keys(&mut browser, at);
        }
        assert_eq!(empty_figures(&mut browser), json!([]), "{name}");
        browser.value("document.querySelectorAll('.numbers').forEach(one => one.open = true), true");
        browser.until(
            "[...document.querySelectorAll('figure[data-figure]')].every(one => one.querySelectorAll('.numbers tr').length > 1)",
        );
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
        assert_eq!(browser.requests(), Vec::<String>::new(), "{name}");
    }
    assert!(switched > 0, "no figure has a switch");
}

/// Presses a button, and waits until a folder holds so many files of a kind that begin as such files do.
fn saved(browser: &mut Browser, button: &str, folder: &Path, (kind, head): (&str, &[u8]), count: u64) {
    // Of more than ten downloads in a second Chromium drops one without a word: `LocalFrame::ShouldThrottleDownload`.
    std::thread::sleep(Duration::from_millis(110));
    browser.value(&format!("{button}.click(), true"));
    let started = Instant::now();
    let whole = || {
        let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        let named = files.filter(|path| path.extension().is_some_and(|extension| extension == kind));
        named.filter(|path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(head))).count() as u64
    };
    while whole() < count {
        let waited = started.elapsed();
        assert!(waited < Duration::from_secs(60), "{}: {} of {count} {kind}", folder.display(), whole());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_figure_of_every_page_is_saved_and_printed() {
    if is_skipped("every_figure_of_every_page_is_saved_and_printed") {
        return;
    }
    let place = TestDirectory::new("pages-printed");
    let mut browser = Browser::start(1200, 900, "dark");
    for (name, file) in written(&place) {
        browser.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        browser.until(
            "document.readyState === 'complete' && document.querySelectorAll('.chart svg').length > 0",
        );
        // Nothing has been scrolled: printing must draw what was never in sight.
        let printed = browser.ask("Page.printToPDF", json!({}));
        assert!(printed["data"].as_str().unwrap().starts_with("JVBERi"), "{name}: no PDF");
        assert_eq!(empty_figures(&mut browser), json!([]), "{name}");
        let folder = place.join(&format!("{name}-saved"));
        fs::create_dir(&folder).unwrap();
        browser.ask("Browser.setDownloadBehavior", json!({"behavior": "allow", "downloadPath": folder}));
        let figures =
            browser.value("document.querySelectorAll('figure[data-figure]').length").as_u64().unwrap();
        for (act, head) in [("svg", &b"<svg"[..]), ("png", &b"\x89PNG"[..])] {
            for at in 0..figures {
                let button = format!("{}.closest('figure').querySelector('[data-act={act}]')", chart(at));
                saved(&mut browser, &button, &folder, (act, head), at + 1);
            }
        }
        // The nets are saved as they are.
        let drawings = browser.value(
            "document.querySelectorAll('details').forEach(one => one.open = true),\
             document.querySelectorAll('figure.drawing [data-act=save]').length",
        );
        for at in 0..drawings.as_u64().unwrap().min(3) {
            let button = format!("document.querySelectorAll('figure.drawing [data-act=save]')[{at}]");
            saved(&mut browser, &button, &folder, ("svg", b"<svg"), figures + at + 1);
        }
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
        assert_eq!(browser.requests(), Vec::<String>::new(), "{name}");
    }
}
