//! The page of a call.

use std::collections::HashSet;
use std::sync::Arc;

use tempfile::TempDir;
use verbale::log::JsonLines;

use crate::calls::play_turns;
use crate::{run, shown, with_calls};

pub const HOSTILE: &str =
    "<script>alert(1)</script> \"><img src=x onerror=alert(2)> </title></style> &lt;b&gt; {{ call }} \u{202e}";
/// The elements of the page.
pub const ELEMENTS: [&str; 35] = [
    "!doctype", "a", "body", "dd", "details", "div", "dl", "dt", "h1", "h2", "head", "header", "html", "ins", "li",
    "line", "main", "meta", "p", "rect", "s", "section", "span", "style", "summary", "svg", "table", "tbody", "td",
    "text", "th", "thead", "title", "tr", "ul",
];

/// Returns the page of a call.
fn page(folder: &TempDir, call: &str) -> String {
    let output = run(folder.path(), &format!("verbale report {call} --log jsonl:calls"));
    assert!(output.status.success(), "{}", shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the opening tags of a page. A `<` in a text is escaped.
pub fn tags(page: &str) -> impl Iterator<Item = &str> {
    page.split('<').skip(1).filter(|tag| !tag.starts_with('/')).map(|tag| tag.split_once('>').unwrap().0)
}

pub fn values_of<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start).skip(1).map(|rest| rest.split_once('"').unwrap().0).collect()
}

#[tokio::test(start_paused = true)]
async fn hostile_texts_stay_text() {
    let folder = tempfile::tempdir().unwrap();
    play_turns(Arc::new(JsonLines::new(folder.path().join("calls"))), "hostile", 3, HOSTILE).await;
    let page = page(&folder, "hostile");
    for tag in tags(&page) {
        let name = tag.split_whitespace().next().unwrap();
        assert!(ELEMENTS.contains(&name), "{tag}");
        assert!(!tag.contains("onerror") || tag.contains("&#34;&#62;&#60;img"), "{tag}");
    }
    let shown = page.matches("&#60;script&#62;alert(1)&#60;/script&#62;").count();
    assert!(shown > 12, "{shown}: {page}");
    assert!(!page.contains('\u{202e}'), "{page}");
    assert_eq!(page.matches("</title>").count(), tags(&page).filter(|tag| *tag == "title").count());
}

/// Nothing is loaded, and each link leads to a place of the page.
#[tokio::test(start_paused = true)]
async fn page_needs_nothing_else() {
    let folder = with_calls().await;
    for call in ["ferry-1", "ferry-2", "ferry-3"] {
        let page = page(&folder, call);
        assert!(!page.contains("url(") && !page.contains("http:") && !page.contains("@import"), "{page}");
        assert!(values_of(&page, "src").is_empty());
        let ids: Vec<&str> = values_of(&page, "id");
        let places: HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), places.len(), "{ids:?}");
        for link in values_of(&page, "href") {
            assert!(link.strip_prefix('#').is_some_and(|id| places.contains(id)), "{link}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn page_tells_what_why_and_show_tell() {
    let folder = with_calls().await;
    let page = page(&folder, "ferry-1");
    for text in [
        "the caller interrupted after 21% of the words",
        "Are there seats on the ten thirty?",
        "<s aria-label=\"not heard\">You get a ticket by e-mail, and a text message.</s>",
        "ticket F-17",
        "tokens, 400 of them cached",
        "<dt>answers</dt>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[tokio::test(start_paused = true)]
async fn causes_and_transcript_link_to_each_other() {
    let folder = with_calls().await;
    let page = page(&folder, "ferry-1");
    let (_, cause) = page.split_once("<li id=\"c0\"><a href=\"#").unwrap();
    let (message, _) = cause.split_once('"').unwrap();
    let (_, row) = page.split_once(&format!("<tr id=\"{message}\">")).unwrap();
    let (row, _) = row.split_once("</tr>").unwrap();
    assert!(row.contains("It is booked.") && row.contains("href=\"#c0\">What went wrong here"), "{row}");
    for mark in ["<title>the caller interrupted</title>", "<title>a fixed sentence</title>"] {
        assert!(page.contains(mark), "{mark}");
    }
}

#[tokio::test(start_paused = true)]
async fn page_of_forty_turns_has_its_memory_and_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let words = "Is there a seat on the ferry at ten thirty, and what does it cost for two adults with a dog?";
    play_turns(Arc::new(JsonLines::new(folder.path().join("calls"))), "long", 40, words).await;
    let page = page(&folder, "long --prices 3,15 --budget 5000");
    assert!(page.len() < 300 << 10, "{} bytes", page.len());
    // 40 turns with 120 and 190 tokens in, and 22 and 18 out.
    assert!(page.contains("<dt>tokens</dt><dd>12400 tokens in, 0% of them cached, 1600 out</dd>"), "{page}");
    assert!(page.contains("<dt>cost</dt><dd>$0.0612</dd>") && page.contains("the budget, 5000 tokens"), "{page}");
    let cuts = page.matches("class=\"cut\"").count();
    assert!(cuts > 1, "{cuts}");
    assert_eq!((page.matches("<details").count(), page.matches("As it was sent.").count()), (cuts, cuts));
    assert!(page.contains("<ins>The caller said: ") && page.contains("90% within "), "{page}");
}

#[tokio::test(start_paused = true)]
async fn overview_of_a_day_links_to_a_page_of_each_call() {
    let folder = with_calls().await;
    let log = Arc::new(JsonLines::new(folder.path().join("calls")));
    play_turns(log, "hostile", 1, HOSTILE).await;
    let line = "verbale report --day 2025-10-20 --log jsonl:calls";
    let output = run(folder.path(), &format!("{line} -o pages"));
    assert_eq!(shown(&output), "4 pages written, with the overview pages/index.html\n");
    let at = |name: &str| std::fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    let overview = at("index.html");
    let links = values_of(&overview, "href");
    let pages: HashSet<String> = links.iter().map(|link| at(link)).collect();
    assert_eq!(pages.len(), 4);
    for call in ["ferry-1", "ferry-2", "ferry-3", "hostile"] {
        assert!(overview.contains(&format!(">{call}</a>")), "{overview}");
        assert!(pages.iter().any(|page| page.contains(&format!("<h1>Call {call}</h1>"))), "{call}");
    }
    assert!(overview.contains("&#60;b&#62;hangup") && overview.contains("<td>transferred</td>"), "{overview}");
    for tag in tags(&overview) {
        assert!(ELEMENTS.contains(&tag.split_whitespace().next().unwrap()), "{tag}");
    }
    assert!(shown(&run(folder.path(), line)).ends_with("(exit status 2)\n"));
}

/// Writes pages to the directory `VERBALE_REPORTS`, where `.ci/run` looks at them in a browser.
#[tokio::test(start_paused = true)]
async fn reports_for_a_browser() {
    let Some(directory) = std::env::var_os("VERBALE_REPORTS").map(std::path::PathBuf::from) else { return };
    let folder = with_calls().await;
    let log = Arc::new(JsonLines::new(folder.path().join("calls")));
    play_turns(log.clone(), "hostile", 3, HOSTILE).await;
    play_turns(log.clone(), "long", 40, "Is there a seat on the ferry at ten thirty?").await;
    play_turns(log, "longest", 400, "Is there a seat on the ferry at ten thirty?").await;
    for call in ["ferry-1", "ferry-2", "ferry-3", "hostile", "long", "longest"] {
        std::fs::write(directory.join(format!("{call}.html")), page(&folder, call)).unwrap();
    }
}
