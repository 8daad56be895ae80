// Package bodytext turns the bytes of a body into text, for whoever judges, searches or
// shows it: content codings are undone as the body comes in (Reader), and character sets
// become UTF-8 (Detect). What cannot be undone or is no text is named, never guessed at.
package bodytext
