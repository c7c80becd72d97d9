//! Parses texts with citations.

use aws_sdk_bedrockruntime::types::{
    Citation, CitationGeneratedContent, CitationLocation, CitationSourceContent, CitationsContentBlock,
    DocumentCharLocation, DocumentChunkLocation, DocumentPageLocation, SearchResultLocation, WebLocation,
};

use super::blocks::KNOWN;
use super::node::{Node, Unreadable};

pub(super) fn content(node: Node<'_>) -> Result<CitationsContentBlock, Unreadable> {
    let text = |node: Node<'_>| Ok(CitationGeneratedContent::Text(node.text("text")?.to_owned()));
    Ok(CitationsContentBlock::builder()
        .set_content(node.list("content", text)?)
        .set_citations(node.list("citations", citation)?)
        .build())
}

fn citation(node: Node<'_>) -> Result<Citation, Unreadable> {
    let text = |node: Node<'_>| Ok(CitationSourceContent::Text(node.text("text")?.to_owned()));
    Ok(Citation::builder()
        .set_title(node.optional_text("title")?)
        .set_source(node.optional_text("source")?)
        .set_source_content(node.list("sourceContent", text)?)
        .set_location(node.get("location", location)?)
        .build())
}

fn location(node: Node<'_>) -> Result<CitationLocation, Unreadable> {
    node.one_of(|kind, at| {
        let number = |member: &str| at.get(member, Node::as_i32);
        Ok(match kind {
            "web" => {
                let web = WebLocation::builder().set_url(at.optional_text("url")?);
                CitationLocation::Web(web.set_domain(at.optional_text("domain")?).build())
            }
            "documentChar" => {
                let range = DocumentCharLocation::builder().set_document_index(number("documentIndex")?);
                CitationLocation::DocumentChar(range.set_start(number("start")?).set_end(number("end")?).build())
            }
            "documentPage" => {
                let range = DocumentPageLocation::builder().set_document_index(number("documentIndex")?);
                CitationLocation::DocumentPage(range.set_start(number("start")?).set_end(number("end")?).build())
            }
            "documentChunk" => {
                let range = DocumentChunkLocation::builder().set_document_index(number("documentIndex")?);
                CitationLocation::DocumentChunk(range.set_start(number("start")?).set_end(number("end")?).build())
            }
            "searchResultLocation" => {
                let range = SearchResultLocation::builder().set_search_result_index(number("searchResultIndex")?);
                let range = range.set_start(number("start")?).set_end(number("end")?);
                CitationLocation::SearchResultLocation(range.build())
            }
            _ => return Err(Unreadable::new(KNOWN)),
        })
    })
}
