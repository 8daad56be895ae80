// Package lab is the small web site that the emulator fetches: one page for each
// way a fetch can end (fine, forbidden, too fast, CAPTCHA, slow, empty, broken)
// and a shop whose markup changes on demand.
//
// Static pages are files in pages, documents are lines of documents.ndjson.
//
// The emulator serves it and resolves lab.test to it; nothing else calls it. The handler keeps no
// state and is safe for concurrent use. [Split] serves http and https on one port, so that both
// addresses work with any port.
package lab
