//! [`Allowed`]: the URLs that may be callbacks.

use axum::http::Uri;
use url::Url;

/// The URLs of the operator. A callback is one of them, or below one.
pub struct Allowed(Vec<Url>);

impl Allowed {
    /// Reads the URLs. Returns what is wrong with one.
    pub fn read(urls: &[String]) -> Result<Self, String> {
        let read = |(number, text): (usize, &String)| match parse(text) {
            Ok(url) if url.query().is_none() => Ok(url),
            Ok(_) => Err(format!("the URL of --callback {number} has a query")),
            Err(why) => Err(format!("the URL of --callback {number} {why}")),
        };
        (1..).zip(urls).map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the URL of a callback that is allowed, or why it is not.
    pub fn check(&self, callback: &str) -> Result<Uri, String> {
        let url = parse(callback).map_err(|why| format!("the callback of the tool {why}"))?;
        if !self.0.iter().any(|allowed| is_below(&url, allowed)) {
            return Err("the callback of the tool is not below a --callback of the server".to_owned());
        }
        url.as_str().parse().map_err(|_| "the callback of the tool cannot be requested".to_owned())
    }
}

/// Compares what is requested: the URL is in the form that the client sends, so `..` is resolved.
fn is_below(url: &Url, allowed: &Url) -> bool {
    let folder = allowed.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(folder);
    url.origin() == allowed.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reads a URL without anything that a service could read in another way.
fn parse(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not a URL")?;
    let is_web = matches!(url.scheme(), "http" | "https");
    match url.path() {
        _ if !is_web || !url.has_host() => Err("is not an address of https or http"),
        _ if text.contains('@') && (!url.username().is_empty() || url.password().is_some()) => {
            Err("has credentials; a service checks the signature instead")
        }
        _ if url.fragment().is_some() => Err("has a fragment"),
        // Services decode these in different ways, and could find another path.
        path if path.contains(['%', ';']) || text.contains('\\') => Err("has %, ; or \\ in its path"),
        _ => Ok(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(urls: &[&str]) -> Result<Allowed, String> {
        Allowed::read(&urls.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn callback_below_an_allowed_url_is_accepted_in_the_form_that_is_sent() {
        let list = allowed(&["https://tools.example.com/calls/", "http://127.0.0.1:8080"]).unwrap();
        for (url, sent) in [
            ("https://tools.example.com/calls", "https://tools.example.com/calls"),
            ("https://tools.example.com/calls/", "https://tools.example.com/calls/"),
            ("https://TOOLS.example.com:443/calls/book?x=%41", "https://tools.example.com/calls/book?x=%41"),
            ("https://tools.example.com/other/../calls/book", "https://tools.example.com/calls/book"),
            ("http://127.0.0.1:8080/any/path", "http://127.0.0.1:8080/any/path"),
            ("http://0x7f.1:8080/", "http://127.0.0.1:8080/"),
        ] {
            assert_eq!(list.check(url).unwrap().to_string(), sent, "{url}");
        }
    }

    #[test]
    fn callback_that_leads_elsewhere_is_refused() {
        let list = allowed(&["https://tools.example.com/calls"]).unwrap();
        for url in [
            "https://evil.example/calls/book",
            "http://tools.example.com/calls/book",
            "https://tools.example.com:8443/calls/book",
            "https://tools.example.com.evil.example/calls/book",
            "https://tools.example.com./calls/book",
            "https://tools.example.com@evil.example/calls/book",
            "https://tools.example.com:443@evil.example/calls/book",
            "https://user:secret@tools.example.com/calls/book",
            "https://user@tools.example.com/calls/book",
            "https://evil.example#@tools.example.com/calls/book",
            "https://evil.example\\@tools.example.com/calls/book",
            "https://tools.example.com/callsign",
            "https://tools.example.com/calls/../other",
            "https://tools.example.com/calls/%2e%2e/other",
            "https://tools.example.com/calls/..%2fother",
            "https://tools.example.com/calls/..;/other",
            "https://tools.example.com/calls/..\\other",
            "https://tools.example.com/calls/book#part",
            "https://tools.example.com/",
            "//tools.example.com/calls/book",
            "file:///calls/book",
            "ftp://tools.example.com/calls/book",
            "javascript:alert(1)",
            "calls/book",
            "",
        ] {
            let error = list.check(url).unwrap_err();
            assert!(error.starts_with("the callback of the tool "), "{url}: {error}");
            assert!(!error.contains("secret") && !error.contains("evil"), "{error}");
        }
    }

    #[test]
    fn operator_learns_what_is_wrong_with_a_url() {
        for wrong in ["tools.example.com", "https://a:b@tools.example.com", "https://tools.example.com/?a", "ftp://a"] {
            assert!(allowed(&[wrong]).is_err(), "{wrong}");
        }
    }
}
