//! Checks the sources against the design: layers, modules that may use AWS and the clock, and the size of files.
//!
//! The checks read tokens, so that comments, documentation and strings do not count. Code under `#[cfg(test)]` may import
//! anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;
use std::{fs, io};

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// The layers, from low to high. A module may import only from lower layers and from itself.
const LAYERS: [&[&str]; 8] = [
    &["clock", "message"],
    &["manager", "contents"],
    &["exchange", "log", "model", "policy"],
    &["memory", "bedrock", "dynamodb"],
    &["turn", "embedded"],
    &["conversation"],
    &["call"],
    &["testing", "bin"],
];
const AWS: [&str; 4] = ["bedrock", "dynamodb", "embedded", "testing"];
const LONGEST_FILE: usize = 500;
const LONGEST_CODE: usize = 300;

#[test]
fn sources_follow_the_design() {
    let root = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    read_folder(&root, "", &mut files).unwrap();
    assert!(files.len() > 20 && files.iter().any(|(path, _)| path == "lib.rs"), "{} files in src", files.len());
    let files: Vec<(&str, &str)> = files.iter().map(|(path, source)| (path.as_str(), source.as_str())).collect();
    let violations = violations(&files);
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

fn read_folder(folder: &FilePath, prefix: &str, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if path.ends_with(".rs") {
            files.push((path, fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

/// Returns the violations in the files of `src/`, given as (path, source).
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut parsed = Vec::new();
    for &(path, source) in files {
        match source.parse::<TokenStream>() {
            Ok(tokens) => parsed.push((path, source, Code::of(module_of(path), tokens))),
            Err(error) => found.push(format!("src/{path} cannot be read: {error}")),
        }
    }
    let re_exports = parsed.iter().find(|(path, ..)| *path == "lib.rs").map(|(_, _, root)| root.re_exports.clone());
    let re_exports = re_exports.unwrap_or_default();
    let test_modules: Vec<&Module> = parsed.iter().flat_map(|(_, _, code)| &code.test_modules).collect();
    for (path, source, code) in &parsed {
        let is_test = test_modules.iter().any(|tests| code.module.starts_with(tests));
        let mut wrong = size_and_opening(source, is_test);
        if !is_test && let Some(home) = code.module.first() {
            wrong.extend(ports(home, code));
            wrong.extend(imports(home, code, &re_exports));
        }
        found.extend(wrong.into_iter().map(|wrong| format!("src/{path} {wrong}")));
    }
    found.sort();
    found.dedup();
    found
}

/// The path of a module: `["message", "value", "json"]` for `message/value/json.rs`, empty for `lib.rs`.
type Module = Vec<String>;

fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Module::new() } else { path.split('/').map(str::to_owned).collect() }
}

fn size_and_opening(source: &str, is_test: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    if !source.starts_with("//!") {
        wrong.push("does not start with `//!`; state what it owns and what it never touches".to_owned());
    }
    let lines: Vec<&str> = source.lines().collect();
    if lines.len() > LONGEST_FILE {
        wrong.push(format!("has {} lines, more than {LONGEST_FILE}", lines.len()));
    }
    // Only an inline test module counts, not the declaration of one in another file.
    let is_cfg = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
    let is_tests =
        |pair: &[&str]| matches!(pair, [cfg, item] if is_cfg(cfg) && item.contains("mod ") && item.ends_with('{'));
    let code = lines.windows(2).position(is_tests).unwrap_or(lines.len());
    if code > LONGEST_CODE && !is_test {
        wrong.push(format!("has {code} lines without its tests, more than {LONGEST_CODE}"));
    }
    wrong
}

fn ports(home: &str, code: &Code) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in &code.names {
        if name.starts_with("aws_") && !AWS.contains(&home) {
            wrong.push(format!("names {name}, which only {} may", AWS.join(", ")));
        }
        if (name == "getrandom" || name == "SystemTime::now") && home != "clock" {
            wrong.push(format!("names {name}; take time and randomness from `clock`"));
        }
    }
    wrong
}

fn imports(home: &str, code: &Code, re_exports: &BTreeMap<String, String>) -> Vec<String> {
    let layer_of = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    // Binaries are separate crates, which see only public items.
    if home == "bin" || home == "main" {
        return Vec::new();
    }
    let Some(own) = layer_of(home) else {
        return vec![format!("has no layer: {home} is not in the table")];
    };
    let mut wrong = Vec::new();
    for path in &code.paths {
        let Some(named) = path.first() else { continue };
        let module = re_exports.get(named).unwrap_or(named);
        match layer_of(module) {
            _ if module == home => {}
            None => wrong.push(format!("names crate::{}: {named} is in no layer", path.join("::"))),
            Some(layer) if layer < own => {}
            Some(layer) => wrong.push(format!(
                "names crate::{}: {home} is in layer {own}, {module} in {}",
                path.join("::"),
                if layer == own { "the same, a sibling".to_owned() } else { format!("the higher layer {layer}") },
            )),
        }
    }
    wrong
}

/// The names in the code of a file, without its tests.
#[derive(Default)]
struct Code {
    module: Module,
    /// The targets of `crate::` and `super::` paths, from the root of the crate.
    paths: Vec<Module>,
    /// All identifiers, plus `SystemTime::now`.
    names: BTreeSet<String>,
    /// In the root: the module of each re-exported name.
    re_exports: BTreeMap<String, String>,
    /// The modules declared under `#[cfg(test)]` in files of their own.
    test_modules: Vec<Module>,
}

impl Code {
    fn of(module: Module, tokens: TokenStream) -> Self {
        let mut code = Self { module: module.clone(), ..Self::default() };
        code.read(&module, &trees(tokens));
        code
    }

    /// Reads the tokens of `module`.
    fn read(&mut self, module: &Module, tokens: &[TokenTree]) {
        let mut rest = tokens;
        while let [first, after @ ..] = rest {
            rest = after;
            match (first, after) {
                (TokenTree::Punct(hash), [TokenTree::Group(attribute), item @ ..]) if hash.as_char() == '#' => {
                    if is_cfg_test(attribute) {
                        rest = self.skip_test_item(module, item);
                    }
                }
                (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(body), item @ ..])
                    if *word == "mod" =>
                {
                    self.read(&child(module, name), &trees(body.stream()));
                    rest = item;
                }
                (TokenTree::Ident(word), [TokenTree::Ident(from), ..]) if *word == "use" && module.is_empty() => {
                    let (paths, after) = paths(child(module, from), after.get(1..).unwrap_or_default());
                    let names =
                        paths.into_iter().filter_map(|path| Some((path.last()?.clone(), path.first()?.clone())));
                    self.re_exports.extend(names);
                    rest = after;
                }
                (TokenTree::Ident(root), _) if (*root == "crate" || *root == "super") && is_path(after) => {
                    let base = if *root == "super" { parent(module) } else { Module::new() };
                    let (paths, after) = paths(base, after);
                    self.names.extend(paths.iter().flatten().cloned());
                    self.paths.extend(paths);
                    rest = after;
                }
                (TokenTree::Ident(name), _) => {
                    self.names.insert(name.to_string());
                    if *name == "SystemTime"
                        && let Some([TokenTree::Ident(method), ..]) = after_colons(after)
                    {
                        self.names.insert(format!("{name}::{method}"));
                    }
                }
                (TokenTree::Group(group), _) => self.read(module, &trees(group.stream())),
                (TokenTree::Punct(_) | TokenTree::Literal(_), _) => {}
            }
        }
    }

    /// Skips the test item at the start of `tokens` and returns the tokens after it.
    fn skip_test_item<'a>(&mut self, module: &Module, tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        let is_end = |token: &TokenTree| match token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        let end = tokens.iter().position(is_end).map_or(tokens.len(), |end| end + 1);
        let (item, after) = tokens.split_at(end);
        for three in item.windows(3) {
            if let [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(_)] = three
                && *word == "mod"
            {
                self.test_modules.push(child(module, name));
            }
        }
        after
    }
}

/// Returns the paths that continue `base`, and the tokens after them. `tokens` starts with `::` if the path continues.
fn paths(base: Module, tokens: &[TokenTree]) -> (Vec<Module>, &[TokenTree]) {
    match after_colons(tokens) {
        Some([TokenTree::Ident(name), rest @ ..]) => paths(step(base, name), rest),
        Some([TokenTree::Punct(_), rest @ ..]) => (vec![child(&base, &"*")], rest),
        Some([TokenTree::Group(tree), rest @ ..]) if tree.delimiter() == Delimiter::Brace => {
            let tree = trees(tree.stream());
            let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
            let branches = tree.split(is_comma).flat_map(|branch| match branch {
                [TokenTree::Ident(name), rest @ ..] => paths(step(base.clone(), name), rest).0,
                [] => vec![],
                _ => vec![child(&base, &"*")],
            });
            (branches.collect(), rest)
        }
        _ => (vec![base], tokens),
    }
}

fn step(base: Module, name: &Ident) -> Module {
    match name.to_string().as_str() {
        "self" => base,
        "super" => parent(&base),
        _ => child(&base, name),
    }
}

fn child(module: &Module, name: &impl ToString) -> Module {
    module.iter().cloned().chain([name.to_string()]).collect()
}

fn parent(module: &Module) -> Module {
    module.iter().take(module.len().saturating_sub(1)).cloned().collect()
}

fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

fn is_path(tokens: &[TokenTree]) -> bool {
    after_colons(tokens).is_some()
}

fn after_colons(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    match tokens {
        [TokenTree::Punct(one), TokenTree::Punct(two), rest @ ..] if one.as_char() == ':' && two.as_char() == ':' => {
            Some(rest)
        }
        _ => None,
    }
}

/// Returns whether the attribute is `cfg(test)` or `cfg(all(test, …))`. Items under `any(test, …)` are also in the library.
fn is_cfg_test(attribute: &Group) -> bool {
    let is_test = |one: &[TokenTree]| matches!(one, [TokenTree::Ident(name)] if *name == "test");
    let attribute = trees(attribute.stream());
    let [TokenTree::Ident(cfg), TokenTree::Group(condition)] = attribute.as_slice() else { return false };
    let condition = trees(condition.stream());
    let condition = match condition.as_slice() {
        [TokenTree::Ident(all), TokenTree::Group(conditions)] if *all == "all" => trees(conditions.stream()),
        _ => condition,
    };
    *cfg == "cfg" && condition.split(|token| matches!(token, TokenTree::Punct(_))).any(is_test)
}

const ROOT: (&str, &str) =
    ("lib.rs", "//! .\npub mod message;\npub use message::{Role, Text};\npub use log::LogWriter;\n");

/// Returns the violations of one file next to a root with re-exports.
fn violations_of(path: &str, source: &str) -> Vec<String> {
    violations(&[ROOT, (path, &format!("//! .\n{source}"))])
}

#[test]
fn imports_from_higher_layers_and_siblings_are_caught() {
    for (path, source) in [
        ("message/mod.rs", "use crate::manager::MessagesManager;"),
        ("message/value/json.rs", "use crate::{message::Text, log::LogWriter};"),
        ("message/value/json.rs", "use crate::{message::{Text, Role}, clock::{Clock}};"),
        ("message/text.rs", "use super::super::clock::Clock;"),
        ("message/mod.rs", "use super::policy::Policy;"),
        ("message/mod.rs", "use super::{message::Text, policy};"),
        ("message/mod.rs", "use crate::LogWriter;"),
        ("message/mod.rs", "use crate::*;"),
        ("message/mod.rs", "use crate::Unheard;"),
        ("contents.rs", "fn cut() { let _ = crate::manager::cut(); }"),
        ("contents.rs", "fn cut() { println!(\"{}\", vec![crate::manager::CUT]); }"),
        ("contents.rs", "mod inner { use super::super::manager::Cut; }"),
        ("contents.rs", "pub(crate) fn cut() -> crate::manager::Cut<u8> {}"),
        ("log/queue.rs", "impl super::super::model::Model for Queue {}"),
        ("bedrock/mod.rs", "use crate::dynamodb::Item;"),
        ("dynamodb/mod.rs", "#[cfg(feature = \"bedrock\")] use crate::bedrock::BedrockMessage;"),
        ("dynamodb/mod.rs", "#[cfg(any(test, feature = \"x\"))] mod faults { use crate::embedded::Engine; }"),
        ("dynamodb/mod.rs", "#[cfg(not(test))] use crate::embedded::Engine;"),
        ("dynamodb/mod.rs", "#[cfg(test)] use crate::call::A; use crate::embedded::Engine;"),
        ("dynamodb/mod.rs", "#[cfg(test)] mod tests; use crate::embedded::Engine;"),
        ("dynamodb/mod.rs", "#[cfg(test)] fn a<A, B>() {} fn b() { crate::embedded::engine() }"),
        ("turn/mod.rs", "use crate::embedded::Engine;"),
        ("weather.rs", "fn rain() {}"),
    ] {
        assert_eq!(violations_of(path, source).len(), 1, "{path}: {source}");
    }
}

#[test]
fn report_names_file_import_and_layers() {
    assert_eq!(
        violations_of("contents.rs", "use crate::{log::Queue, manager::Cut, Nobody};"),
        [
            "src/contents.rs names crate::Nobody: Nobody is in no layer",
            "src/contents.rs names crate::log::Queue: contents is in layer 1, log in the higher layer 2",
            "src/contents.rs names crate::manager::Cut: contents is in layer 1, manager in the same, a sibling",
        ]
    );
}

#[test]
fn allowed_imports_pass() {
    for (path, source) in [
        ("manager/mod.rs", "use crate::message::{Text, value::{self, Map}}; use crate::clock::Clock; use crate::Role;"),
        ("manager/mod.rs", "mod list; pub(crate) use list::List; pub(in crate::manager) fn f() { self::list::g() }"),
        ("manager/list.rs", "use super::cut::Cut; use crate::manager::merge; mod inner { use super::super::Cut; }"),
        ("manager/list.rs", "/// As [`crate::log::Queue`].\nfn f() { /* crate::log::Queue */ \"crate::log::Queue\"; }"),
        ("manager/list.rs", "#[cfg(test)]\n#[expect(unused)]\nmod tests { use crate::log::Queue; use aws_sdk_x::Y; }"),
        ("manager/list.rs", "#[cfg(all(test, feature = \"embedded\"))] mod tests { use crate::embedded::Engine; }"),
        ("manager/list.rs", "#[cfg(test)] use crate::log::{Queue, Spool};"),
        ("dynamodb/mod.rs", "use aws_sdk_dynamodb::Client; use crate::log::CallLog;"),
        ("call/mod.rs", "use crate::dynamodb::Table; use crate::bedrock::BedrockMessage;"),
        ("bin/verbale.rs", "use verbale::inspect::Report;"),
        ("clock.rs", "fn now() { std::time::SystemTime::now(); getrandom::fill(&mut []); }"),
        ("log/queue.rs", "fn now(at: SystemTime) { tokio::time::Instant::now(); }"),
    ] {
        assert_eq!(violations_of(path, source), Vec::<String>::new(), "{path}: {source}");
    }
}

#[test]
fn test_files_may_import_anything() {
    let tests = ("manager/tests.rs", "//! .\nuse crate::embedded::Engine;");
    let long = format!("//! .\n{}", "\n".repeat(400));
    let declared = |declaration: &str| {
        let manager = format!("//! .\n{declaration}");
        violations(&[ROOT, tests, ("manager/tests/long.rs", &long), ("manager/mod.rs", &manager)]).len()
    };
    assert_eq!(declared("#[cfg(test)]\nmod tests;\nmod list;"), 0);
    assert_eq!(declared("mod tests;"), 2);
}

#[test]
fn aws_and_clock_are_caught_outside_their_modules() {
    for (path, source) in [
        ("log/mod.rs", "use aws_sdk_dynamodb::Client;"),
        ("call/mod.rs", "fn f(client: &aws_sdk_bedrockruntime::Client) {}"),
        ("message/mod.rs", "fn f() { getrandom::fill(&mut []); }"),
        ("log/mod.rs", "fn f() { let now = std::time::SystemTime::now(); }"),
    ] {
        assert_eq!(violations_of(path, source).len(), 1, "{path}: {source}");
    }
}

#[test]
fn long_files_and_missing_module_docs_are_caught() {
    let lines = |code: usize, tests: usize| {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(tests.saturating_sub(3)));
        format!("//! .\n#[cfg(test)]\nuse a::b;\n{}{tests}", "\n".repeat(code - 3))
    };
    let wrong = |source: &str| violations(&[("clock.rs", source)]);
    assert_eq!(wrong(&lines(300, 200)), Vec::<String>::new());
    assert_eq!(wrong(&lines(301, 10)), ["src/clock.rs has 301 lines without its tests, more than 300"]);
    assert_eq!(wrong(&lines(300, 201)), ["src/clock.rs has 501 lines, more than 500"]);
    assert_eq!(
        wrong("fn f() {}"),
        ["src/clock.rs does not start with `//!`; state what it owns and what it never touches"]
    );
    assert_eq!(wrong("//! .\nfn f( {}").len(), 1);
}

#[test]
fn paths_in_pages_exist() {
    let root = FilePath::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let page = fs::read_to_string(root.join(name)).unwrap();
        assert!(paths_in(&page).count() > 20, "{name}");
        assert_eq!(missing_paths(&page, |path| root.join(path).exists()), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn missing_paths_are_caught() {
    let page = "`src/a/mod.rs`, `b.rs`, `c/`, `a/x.rs`, `gone.rs`, `src/*/write.rs`, `a/c`, `a b/c`, [d](docs/d.md#e)";
    let exists = |path: &str| ["src", "src/a/mod.rs", "src/a/b.rs", "src/a/c.rs"].contains(&path);
    assert_eq!(missing_paths(page, exists), ["a/x.rs", "gone.rs", "docs/d.md"]);
}

/// Returns the paths of a page that name no file, folder or module. A path is relative to the repository, to `src/`, or to
/// the folder of the path before it. A star stands for any folder.
fn missing_paths(page: &str, exists: impl Fn(&str) -> bool) -> Vec<&str> {
    let exists = |path: &str| {
        let path = path.split("/*").next().unwrap_or_default().trim_end_matches('/');
        exists(path) || exists(&format!("{path}.rs"))
    };
    let mut folder = String::new();
    let mut missing = Vec::new();
    for path in paths_in(page) {
        if let Some(full) = [path.to_owned(), format!("src/{path}")].into_iter().find(|path| exists(path)) {
            folder = full.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default();
        } else if !exists(&format!("{folder}/{path}")) {
            missing.push(path);
        }
    }
    missing
}

/// Returns the paths in the code and in the links of a page.
fn paths_in(page: &str) -> impl Iterator<Item = &str> {
    let is_path = |code: &&str| {
        let is_file = [".rs", ".md", ".json", ".toml"].iter().any(|end| code.ends_with(end) && code != end);
        (is_file || code.contains('/')) && !code.contains(char::is_whitespace)
    };
    let linked = page.split("](").skip(1).filter_map(|link| link.split([')', '#']).next());
    let linked = linked.filter(|link| !link.contains("://"));
    page.split('`').skip(1).step_by(2).filter(is_path).chain(linked)
}
