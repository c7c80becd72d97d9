//! The shapes of the page's charts. All numbers are in the units of their SVG.

use crate::time::since;

/// The width of the part of a timeline that has the lanes' names.
const NAMES: f64 = 90.0;
/// The width of a second, if the call is short enough.
const SECOND: f64 = 12.0;
const MAX_WIDTH: f64 = 12_000.0;
const MIN_WIDTH: f64 = 700.0;
const LANE: f64 = 26.0;
/// The lanes from top to bottom.
pub const LANES: [&str; 7] = ["caller", "thinking", "assistant", "tools", "summaries", "log", "marks"];

/// A block of a lane. It leads to its message in the transcript.
#[derive(Debug)]
pub struct Block {
    pub lane: usize,
    pub class: &'static str,
    pub start_ms: i64,
    pub end_ms: i64,
    /// The number of the message.
    pub message: usize,
    /// Whether it is the first block of its message, to which the transcript leads.
    pub is_first: bool,
    /// The text that a pointer or a screen reader shows.
    pub title: String,
}

/// Something that happened at one time, such as a barge-in. It leads to its message in the transcript.
#[derive(Debug)]
pub struct Mark {
    /// The contents of the lane.
    pub letter: char,
    pub at_ms: i64,
    pub message: usize,
    pub title: String,
}

/// A mark in its place.
#[derive(Debug)]
pub struct Letter {
    pub x: String,
    pub letter: char,
    pub message: usize,
    pub title: String,
}

/// A rectangle.
#[derive(Debug)]
pub struct Rect {
    pub x: String,
    pub y: String,
    pub width: String,
    pub height: String,
    pub class: &'static str,
    pub message: usize,
    pub is_first: bool,
    pub title: String,
}

#[derive(Debug)]
pub struct Tick {
    pub x: String,
    pub label: String,
}

/// The timeline of a call.
#[derive(Debug)]
pub struct Timeline {
    pub width: String,
    pub height: String,
    pub blocks: Vec<Rect>,
    pub marks: Vec<Letter>,
    /// The height of the text of the marks.
    pub marks_y: String,
    pub ticks: Vec<Tick>,
    /// The end of the lanes, and the height of the text of the ticks.
    pub bottom: String,
    pub ticks_y: String,
    /// The name of each lane and the height of its text.
    pub lanes: Vec<(String, &'static str)>,
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

impl Timeline {
    pub fn new(blocks: Vec<Block>, marks: Vec<Mark>, started_ms: i64) -> Self {
        let end_ms = blocks.iter().map(|block| block.end_ms).max().unwrap_or(started_ms);
        let seconds = (end_ms.saturating_sub(started_ms).max(1) as f64) / 1_000.0;
        let inner = (seconds * SECOND).clamp(MIN_WIDTH, MAX_WIDTH);
        let x_of = |at_ms: i64| NAMES + at_ms.saturating_sub(started_ms).max(0) as f64 / 1_000.0 / seconds * inner;
        let rects = blocks.into_iter().map(|block| {
            let (x, end) = (x_of(block.start_ms), x_of(block.end_ms));
            Rect {
                x: number(x),
                y: number(block.lane as f64 * LANE + 3.0),
                // Something short can still be seen.
                width: number((end - x).max(2.0)),
                height: number(LANE - 6.0),
                class: block.class,
                message: block.message,
                is_first: block.is_first,
                title: block.title,
            }
        });
        let letters = marks.into_iter().map(|Mark { letter, at_ms, message, title }| Letter {
            x: number(x_of(at_ms)),
            letter,
            message,
            title,
        });
        let bottom = LANES.len() as f64 * LANE;
        Self {
            blocks: rects.collect(),
            marks: letters.collect(),
            marks_y: number(bottom - LANE + 17.0),
            bottom: number(bottom),
            ticks_y: number(bottom + 16.0),
            ticks: ticks(seconds, inner),
            lanes: LANES.iter().enumerate().map(|(lane, name)| (number(lane as f64 * LANE + 17.0), *name)).collect(),
            width: number(NAMES + inner + 10.0),
            height: number(bottom + 20.0),
        }
    }
}

/// A tick each 10 s, 1 min, 5 min or more, not nearer than 70 units.
fn ticks(seconds: f64, inner: f64) -> Vec<Tick> {
    let steps = [10, 30, 60, 300, 600, 1_800, 3_600, 14_400];
    let step = steps.into_iter().find(|step| f64::from(*step) / seconds * inner >= 70.0).unwrap_or(86_400);
    let ticks = (0..).map(|tick| tick * i64::from(step)).take_while(|at_s| (*at_s as f64) <= seconds).take(1_000);
    let label = |at_s: i64| since(0, at_s * 1_000).trim_end_matches(".0").to_owned();
    ticks.map(|at_s| Tick { x: number(NAMES + at_s as f64 / seconds * inner), label: label(at_s) }).collect()
}

/// A bar of a turn or of a request, in two parts.
#[derive(Debug)]
pub struct Bar {
    pub x: String,
    pub width: String,
    /// The lower part.
    pub y: String,
    pub height: String,
    /// The part above it.
    pub upper_y: String,
    pub upper_height: String,
    pub message: usize,
    pub title: String,
    /// Whether the memory grew before it.
    pub is_after_cut: bool,
}

/// A line across a chart.
#[derive(Debug)]
pub struct Line {
    pub y: String,
    pub class: &'static str,
    pub title: String,
}

/// A chart with a bar for each turn or request.
#[derive(Debug)]
pub struct Bars {
    pub bars: Vec<Bar>,
    pub lines: Vec<Line>,
    pub width: String,
    /// The greatest value, for its axis.
    pub most: String,
}

/// The height of a chart of bars.
pub const BARS_HEIGHT: f64 = 110.0;

/// A value of a turn or of a request.
#[derive(Debug)]
pub struct Value {
    pub lower: f64,
    /// The part above the lower one.
    pub upper: f64,
    pub message: usize,
    pub title: String,
    pub is_after_cut: bool,
}

impl Bars {
    /// Creates a chart of values, with lines of other values across it.
    pub fn new(values: Vec<Value>, lines: Vec<(f64, &'static str, String)>, most_as: impl Fn(f64) -> String) -> Self {
        let highest = values.iter().map(|value| value.lower + value.upper).fold(1.0, f64::max);
        let most = lines.iter().map(|(value, ..)| *value).fold(highest, f64::max);
        let width = (MIN_WIDTH / values.len().max(1) as f64).clamp(4.0, 40.0);
        let y_of = |value: f64| number(BARS_HEIGHT - value / most * BARS_HEIGHT);
        let bars = values.into_iter().enumerate().map(|(index, value)| Bar {
            x: number(index as f64 * width),
            width: number((width - 1.0).max(2.0)),
            y: y_of(value.lower),
            height: number(value.lower / most * BARS_HEIGHT),
            upper_y: y_of(value.lower + value.upper),
            upper_height: number(value.upper / most * BARS_HEIGHT),
            message: value.message,
            title: value.title,
            is_after_cut: value.is_after_cut,
        });
        let bars: Vec<Bar> = bars.collect();
        let lines = lines.into_iter().map(|(value, class, title)| Line { y: y_of(value), class, title }).collect();
        Self { lines, width: number(width * bars.len().max(1) as f64), bars, most: most_as(most) }
    }
}
