//! Histories that the properties found, shrunk.
