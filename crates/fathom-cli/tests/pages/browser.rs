//! A headless Chromium, spoken to in the DevTools protocol over a pair of pipes.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The browser with one tab.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    profile: PathBuf,
    session: Option<String>,
    asked: u64,
    /// What it reported meanwhile.
    events: Vec<Value>,
}

/// How long anything on a page may take on a machine that is busy otherwise.
const PATIENCE: Duration = Duration::from_secs(180);

/// Whether there is one.
pub(crate) fn is_there() -> bool {
    Command::new("chromium").arg("--version").output().is_ok_and(|said| said.status.success())
}

impl Browser {
    /// A tab of this size in one of the two colour schemes.
    pub(crate) fn start(width: u32, height: u32, scheme: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let profile = std::env::temp_dir().join(format!("fathom-browser-{}-{number}", std::process::id()));
        fs::create_dir(&profile).unwrap();
        // The protocol is spoken on descriptors 3 and 4.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
            --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut process = Command::new("sh")
            .args(["-c", script, profile.to_str().unwrap()])
            // It makes a directory there for a socket, which stays where it is killed.
            .env("TMPDIR", &profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        let mut browser = Self { process, to, from, profile, session: None, asked: 0, events: Vec::new() };
        let targets = browser.ask("Target.getTargets", json!({}));
        let pages = targets["targetInfos"].as_array().unwrap();
        let page = pages.iter().find(|target| target["type"] == "page").expect("a tab");
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser.looks_like(width, height, scheme);
        browser
    }

    /// Gives the tab this size and one of the two colour schemes, for the pages that it opens from now on.
    pub(crate) fn looks_like(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Asks the browser for something, and gives its answer.
    pub(crate) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut said = Vec::new();
            self.from.read_until(0, &mut said).unwrap();
            assert_eq!(said.pop(), Some(0), "the browser is gone while asked for {method}");
            let said: Value = serde_json::from_slice(&said).unwrap();
            if said["id"] == self.asked {
                assert!(said["error"].is_null(), "{method}: {}", said["error"]);
                return said["result"].clone();
            }
            self.events.push(said);
        }
    }

    /// What an expression gives on the page; promises are awaited.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let said = self.ask("Runtime.evaluate", asked);
        assert!(said["exceptionDetails"].is_null(), "{expression}: {}", said["exceptionDetails"]);
        said["result"]["value"].clone()
    }

    /// Waits until an expression holds on the page.
    #[track_caller]
    pub(crate) fn until(&mut self, expression: &str) {
        let started = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(started.elapsed() < PATIENCE, "never: {expression}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Opens a file and brings each of its figures into sight; gives how many there are.
    pub(crate) fn open(&mut self, file: &Path) -> u64 {
        self.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        self.until(
            "document.readyState === 'complete' && document.querySelectorAll('.chart svg').length > 0",
        );
        let count = self.value("document.querySelectorAll('figure[data-figure]').length").as_u64().unwrap();
        for figure in 0..count {
            let figure = format!("document.querySelectorAll('figure[data-figure]')[{figure}]");
            self.value(&format!("{figure}.scrollIntoView(), true"));
            self.until(&format!("!!{figure}.querySelector('.chart svg')"));
        }
        count
    }

    /// What the page complained of.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let is_one = |event: &&Value| {
            let name = event["method"].as_str();
            name == Some("Runtime.exceptionThrown")
                || name == Some("Log.entryAdded")
                || name == Some("Runtime.consoleAPICalled")
        };
        self.events.iter().filter(is_one).map(Value::to_string).collect()
    }

    /// Where requests went that left the page.
    pub(crate) fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = sent.filter_map(|event| event["params"]["request"]["url"].as_str());
        urls.filter(|url| !["data:", "blob:", "file:"].iter().any(|own| url.starts_with(own)))
            .map(str::to_owned)
            .collect()
    }

    /// A mouse event at a point of the window.
    pub(crate) fn mouse(&mut self, kind: &str, [x, y]: [f64; 2]) {
        let (button, buttons) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let event =
            json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1});
        self.ask("Input.dispatchMouseEvent", event);
    }

    /// The mouse moves with its button held.
    pub(crate) fn drag(&mut self, from: [f64; 2], to: [f64; 2]) {
        self.mouse("mouseMoved", from);
        self.mouse("mousePressed", from);
        for step in 1..=8 {
            let part = f64::from(step) / 8.0;
            let at = [0, 1].map(|axis: usize| from[axis] + (to[axis] - from[axis]) * part);
            let held = json!({"type": "mouseMoved", "x": at[0], "y": at[1], "button": "left", "buttons": 1});
            self.ask("Input.dispatchMouseEvent", held);
        }
        self.mouse("mouseReleased", to);
    }

    /// Keeps a picture of the whole page where `FATHOM_SCREENSHOTS` names a directory, for people to look at.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("FATHOM_SCREENSHOTS") else { return };
        let height = self.value("document.documentElement.scrollHeight");
        let clip = json!({"x": 0, "y": 0, "width": self.value("innerWidth"), "height": height, "scale": 1});
        let whole = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let shot = self.ask("Page.captureScreenshot", whole);
        let to = Path::new(&directory).join(format!("{name}.png.base64"));
        fs::write(to, shot["data"].as_str().unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // In order, so that no process of it writes into the profile any more. It may have ended by itself.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = io::copy(&mut self.from, &mut io::sink());
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
