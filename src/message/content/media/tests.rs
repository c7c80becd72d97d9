//! Detection and checks of MIME types, also for random bytes.

use std::sync::Arc;

use proptest::prelude::*;

use super::mime::{essence, usual_name};
use super::sniff::sniff;
use super::*;
use crate::message::error::MessageError;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0";
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0;";
const WEBP: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L";
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0";
const MP4: &[u8] = b"\0\0\0\x18ftypisom\0\0\x02\0isommp41";
const PDF: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF";

const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

fn ebml(doc_type: &[u8]) -> Vec<u8> {
    let mut bytes = [b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x82".as_slice(), doc_type].concat();
    bytes.resize(300, 0);
    bytes
}

/// A ZIP of empty files: local headers, then the directory, as Office writes it.
fn zip(names: &[&str]) -> Vec<u8> {
    let header = |magic: &[u8], between: usize, name: &str| {
        let mut entry = magic.to_vec();
        entry.resize(between, 0);
        entry.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        entry
    };
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend(header(b"PK\x03\x04", 26, name));
        bytes.extend([0, 0]);
        bytes.extend(name.as_bytes());
    }
    // The data is longer than the bytes that are read.
    bytes.resize(bytes.len() + 20_000, 0xff);
    for name in names {
        bytes.extend(header(b"PK\x01\x02", 28, name));
        bytes.resize(bytes.len() + 16, 0);
        bytes.extend(name.as_bytes());
    }
    bytes
}

/// An older Office file whose directory is in sector 1.
fn ole(stream: &str) -> Vec<u8> {
    let mut bytes = vec![0; 512 * 4];
    bytes[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    bytes[30..32].copy_from_slice(&9u16.to_le_bytes());
    bytes[48..52].copy_from_slice(&1u32.to_le_bytes());
    for (at, name) in ["Root Entry", stream].into_iter().enumerate() {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let start = 1024 + at * 128;
        bytes[start..start + name.len()].copy_from_slice(&name);
    }
    bytes
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let word = ["[Content_Types].xml", "_rels/.rels", "docProps/core.xml", "docProps/app.xml", "word/document.xml"];
    let excel = ["docProps/app.xml", "docProps/core.xml", "[Content_Types].xml", "xl/theme1.xml", "xl/workbook.xml"];
    let of = |mime_type, bytes: &[u8]| (mime_type, bytes.to_vec());
    vec![
        of("image/png", PNG),
        of("image/jpeg", JPEG),
        of("image/gif", GIF),
        of("image/webp", WEBP),
        of("image/svg+xml", b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>"),
        of("audio/wav", WAV),
        of("audio/mpeg", b"ID3\x03\0\0\0\0\0\0"),
        of("audio/mpeg", b"\xff\xfb\x90\x64\0\0"),
        of("audio/ogg", b"OggS\0\x02\0\0\0\0"),
        of("audio/flac", b"fLaC\0\0\0\x22"),
        of("audio/mp4", b"\0\0\0\x18ftypM4A \0\0\x02\0isommp42"),
        of("video/mp4", MP4),
        of("video/3gpp", b"\0\0\0\x18ftyp3gp4\0\0\x02\x003gp4isom"),
        of("video/quicktime", b"\0\0\0\x14ftypqt  \0\0\x02\0qt  "),
        of("video/x-flv", b"FLV\x01\x05\0\0\0\x09"),
        of("video/mpeg", b"\0\0\x01\xba\x44\0"),
        of("video/webm", &ebml(b"\x84webm")),
        of("video/x-matroska", &ebml(b"\x88matroska")),
        of("application/pdf", PDF),
        of("application/pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"),
        of(DOCX, &zip(&word)),
        of(XLSX, &zip(&excel)),
        of("application/zip", &zip(&["photo.png"])),
        of("application/msword", &ole("WordDocument")),
        of("application/vnd.ms-excel", &ole("Workbook")),
        of("application/x-ole-storage", &ole("PowerPoint Document")),
        of("text/html", b"<!DOCTYPE html><p>Terms"),
        of("text/xml", b"<?xml version='1.0'?><a/>"),
        of("application/rtf", b"{\\rtf1 Terms}"),
        of("text/plain", "Città, 12 €".as_bytes()),
        // These texts begin with the signature of a file.
        of("text/plain", b"BM is a city code"),
        of("text/plain", b"GIF is said with a hard G"),
        of("text/plain", b"MAC addresses"),
        of("text/plain", b"How a %PDF begins"),
    ]
}

#[test]
fn type_of_known_files_is_detected() {
    for (wanted, bytes) in files() {
        assert_eq!(sniff(&bytes).map(|found| found.mime_type), Some(wanted), "{:?}", bytes.get(..12));
    }
    // A character across the end of the head, raw audio, and no bytes.
    let cut = [vec![b'a'; 1_444], "é".into()].concat();
    assert_eq!(sniff(&cut).unwrap().mime_type, "text/plain");
    assert_eq!([sniff(b"\x7f\xff\xfe\x7f\0"), sniff(b"")], [None, None]);
    // `infer` skips empty frames before an archive one by one; only those in the head are read.
    let frames = |count| [b"\x50\x2a\x4d\x18\0\0\0\0".repeat(count), b"\x28\xb5\x2f\xfd".to_vec()].concat();
    assert_eq!(sniff(&frames(1)).unwrap().mime_type, "application/zstd");
    assert_eq!(sniff(&frames(1_000)), None);
}

#[test]
fn absent_type_is_detected() {
    let detected = |kind, bytes: &[u8]| Media::from_bytes(kind, bytes, None).unwrap().mime_type;
    assert_eq!(detected(MediaKind::Image, PNG).as_deref(), Some("image/png"));
    assert_eq!(detected(MediaKind::Audio, WAV).as_deref(), Some("audio/wav"));
    assert_eq!(detected(MediaKind::Video, MP4).as_deref(), Some("video/mp4"));
    assert_eq!(
        Media::from_bytes(MediaKind::Document, PDF, None).unwrap().mime_type.as_deref(),
        Some("application/pdf")
    );
    assert_eq!(detected(MediaKind::Audio, MP4).as_deref(), Some("audio/mp4"));
    // Unknown bytes have no type. A signature of two bytes does not prove a type.
    assert_eq!(detected(MediaKind::Audio, b"\x7f\xff\xfe\x7f\0"), None);
    assert_eq!(detected(MediaKind::Image, b"\xff\xfb\x90\x64\0\0"), None);
    let anything = Media::from_bytes(MediaKind::Image, PNG, Some("application/octet-stream")).unwrap();
    assert_eq!(anything, Media::from_bytes(MediaKind::Image, PNG, None).unwrap());
}

#[test]
fn given_type_must_agree_with_the_bytes() {
    let docx = zip(&["[Content_Types].xml", "word/document.xml"]);
    for (kind, bytes, given) in [
        (MediaKind::Image, PNG, "image/png"),
        (MediaKind::Image, JPEG, "Image/JPG; q=1"),
        (MediaKind::Image, b"\x01\x02", "image/png"),
        (MediaKind::Audio, WAV, "audio/x-wav"),
        (MediaKind::Audio, MP4, "audio/mp4"),
        (MediaKind::Audio, b"\xff\xfb\x90", "audio/basic"),
        (MediaKind::Video, b"OggS\0\x02", "video/ogg"),
        (MediaKind::Image, b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (MediaKind::Image, b"\0\0\x01\0\x01\0\x10\x10", "image/x-icon"),
        (MediaKind::Audio, b"ID3\x03\0\0\0\0\0\0", "audio/x-mpeg"),
        (MediaKind::Audio, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9", "audio/x-ms-wma"),
        (MediaKind::Video, b"RIFF\x24\0\0\0AVI LIST", "video/avi"),
        (MediaKind::Video, &ebml(b"\x84webm"), "video/x-matroska"),
        (MediaKind::Document, &zip(&["a"]), "application/x-zip-compressed"),
        (MediaKind::Document, b"a,b\n1,2", "text/csv"),
        (MediaKind::Document, b"# Terms", "text/markdown; charset=utf-8"),
        (MediaKind::Document, b"{}", "application/json"),
        (MediaKind::Document, b"caf\xe9", "text/plain"),
        (MediaKind::Document, &docx, DOCX),
        (MediaKind::Document, &docx, "application/zip"),
        (MediaKind::Document, &ole("Workbook"), "application/x-ole-storage"),
        (MediaKind::Document, &docx, "application/vnd.ms-word.document.macroEnabled.12"),
        (MediaKind::Document, &zip(&["a"]), XLSX),
        (MediaKind::Document, &ole("PowerPoint Document"), "application/vnd.ms-powerpoint"),
    ] {
        let made = Media::from_bytes(kind, bytes, Some(given)).map(|media| media.mime_type);
        assert_eq!(made, Ok(Some(given.into())), "{given}");
    }
    let contradicted = |given: &str, found: &str| {
        format!("the bytes are {found}, not {given}; omit the MIME type, or give the detected one")
    };
    let other_kind = |kind: &str, mime_type: &str| format!("{kind} cannot be {mime_type}; add it as another kind");
    let media = |kind, bytes: &[u8], given| Media::from_bytes(kind, bytes, given).unwrap_err().to_string();
    let document = |bytes: &[u8], given| Media::from_bytes(MediaKind::Document, bytes, given).unwrap_err().to_string();
    assert_eq!(media(MediaKind::Image, PNG, Some("image/jpeg")), contradicted("image/jpeg", "image/png"));
    assert_eq!(media(MediaKind::Image, PDF, None), other_kind("an image", "application/pdf"));
    assert_eq!(media(MediaKind::Image, PDF, Some("image/png")), contradicted("image/png", "application/pdf"));
    assert_eq!(media(MediaKind::Image, b"hi", Some("image/png")), contradicted("image/png", "text/plain"));
    assert_eq!(media(MediaKind::Video, WAV, None), other_kind("a video", "audio/wav"));
    assert_eq!(media(MediaKind::Audio, b"\x01", Some("image/png")), other_kind("audio", "image/png"));
    assert_eq!(document(PNG, None), other_kind("a document", "image/png"));
    assert_eq!(document(&docx, Some(XLSX)), contradicted(XLSX, DOCX));
    assert_eq!(document(b"a,b", Some("application/pdf")), contradicted("application/pdf", "text/plain"));
    assert_eq!(document(PDF, Some("text/plain")), contradicted("text/plain", "application/pdf"));
    for wrong in ["", "png", "image/", "/png", "image/p ng", "image/png/x", "im\u{e4}ge/png"] {
        let error = format!("a MIME type looks like `image/png`; these {} bytes are not one", wrong.len());
        assert_eq!(media(MediaKind::Image, PNG, Some(wrong)), error);
    }
    assert_eq!(media(MediaKind::Image, b"", None), MessageError::NO_BYTES.to_string());
}

#[test]
fn url_is_kept_and_data_url_is_decoded() {
    let image = |url: &str| Media::from_url(MediaKind::Image, url);
    let receipt = image("https://example.com/receipt.png?token=secret").unwrap();
    assert_eq!(
        receipt,
        Media::new(MediaKind::Image, Source::Url("https://example.com/receipt.png?token=secret".into()))
    );
    assert_eq!(image("data:;base64,iVBORw0KGgoAAAANSUhEUg==").unwrap().mime_type.as_deref(), Some("image/png"));
    let text = Media::from_url(MediaKind::Document, "DATA:text/csv;charset=utf-8;BASE64,YSxi").unwrap();
    assert_eq!(
        text,
        Media::new(MediaKind::Document, Source::Bytes(b"a,b".as_slice().into())).with_mime_type("text/csv")
    );
    let contradicted = image("data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUg==");
    assert!(contradicted.unwrap_err().to_string().starts_with("the bytes are image/png, not image/jpeg;"));
    for wrong in ["", "receipt.png", "https:", "//example.com", "https://exa mple.com", "1x:y"] {
        let error = image(wrong).unwrap_err().to_string();
        assert!(error.starts_with("a URL has a scheme, a colon and no white space"), "{wrong}: {error}");
    }
    for wrong in ["data:image/png,abc", "data:;base64", "data:image/png;base64,?", "data:\u{e4}base64,YQ=="] {
        assert_eq!(image(wrong), Err(MessageError::INVALID_DATA_URL), "{wrong}");
    }
}

#[test]
fn known_type_prefers_the_bytes() {
    let png = || Source::Bytes(PNG.into());
    let known = |media: Media| media.known_type().map(|known| known.as_str().to_owned());
    let image = |source| Media::new(MediaKind::Image, source);
    assert_eq!(known(image(png())).as_deref(), Some("image/png"));
    assert_eq!(known(image(png()).with_mime_type("image/jpeg")).as_deref(), Some("image/png"));
    assert_eq!(known(image(png()).with_mime_type("not a type")).as_deref(), Some("image/png"));
    assert_eq!(
        known(image(Source::Url("s3://b/k".into())).with_mime_type("Image/JPG; q=1")).as_deref(),
        Some("image/jpeg")
    );
    assert_eq!(known(image(Source::Bytes(PDF.into())).with_mime_type("image/png")), None);
    assert_eq!(Media::new(MediaKind::Document, png()).with_mime_type("application/pdf").known_type(), None);
    assert_eq!(Media::new(MediaKind::Document, Source::ContentId("sha256:ab".into())).known_type(), None);
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let file = || prop::sample::select(files()).prop_map(|(_, bytes)| bytes);
    let mutated = (file(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8), 0..400usize);
    prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..64),
        1 => file(),
        4 => mutated.prop_map(|(mut bytes, changes, cut)| {
            changes.into_iter().for_each(|(at, byte)| { let at = at.index(bytes.len()); bytes[at] = byte });
            bytes.truncate(bytes.len().saturating_sub(cut));
            bytes
        }),
    ]
}

fn given() -> impl Strategy<Value = Option<String>> {
    let real = files().into_iter().map(|(mime_type, _)| mime_type.to_owned()).collect::<Vec<_>>();
    prop::option::of(
        prop_oneof![3 => prop::sample::select(real), 1 => "[a-zA-Z]{0,6}/?[a-z+.;= ]{0,8}", 1 => any::<String>()],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_refused_or_get_a_fitting_type(bytes in bytes(), given in given(), kind in 0..4usize) {
        let kind = [MediaKind::Image, MediaKind::Audio, MediaKind::Video, MediaKind::Document][kind];
        let bytes: Arc<[u8]> = bytes.into();
        let made = Media::from_bytes(kind, bytes.clone(), given.as_deref()).map(|media| {
            let known = media.known_type();
            (media.mime_type, known)
        });
        let found = sniff(&bytes);
        match made {
            Err(error) => prop_assert!(!error.to_string().is_empty() && (bytes.is_empty() || given.is_some() || found.is_some())),
            Ok((None, _)) => prop_assert!(given.is_none_or(|given| given.to_lowercase().contains("octet-stream"))),
            Ok((Some(mime_type), known)) => {
                let essence = essence(&mime_type).unwrap();
                prop_assert_eq!(known.as_deref(), Some(essence.as_str()));
                prop_assert_eq!(usual_name(&essence), essence.as_str());
                // The type is the given one or the detected one.
                match (&given, found) {
                    (Some(given), _) if mime_type.as_str() == given.as_str() => {}
                    (_, Some(found)) => prop_assert_eq!(found.mime_type.split_once('/').unwrap().1, essence.split_once('/').unwrap().1),
                    (_, None) => prop_assert!(false, "from nowhere"),
                }
                let class = essence.split_once('/').unwrap().0.to_owned();
                let is_media = ["image", "audio", "video"].contains(&class.as_str());
                match kind {
                    MediaKind::Image => prop_assert_eq!(class, "image"),
                    MediaKind::Audio | MediaKind::Video => prop_assert!(["audio", "video"].contains(&class.as_str())),
                    MediaKind::Document => prop_assert!(!is_media || essence == "image/svg+xml"),
                }
            }
        }
    }
}
