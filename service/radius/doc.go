// Package radius finds what uses a key or a zone's password: what stops, or has to be
// switched, when it is rotated. It looks through every profile, the saved requests, the jobs
// in flight, the inventory's records, and folders that the operator names.
//
// It needs no secret: values in files are recognised by their fingerprint. A word of a file is
// hashed and dropped at once; a Use holds names and fingerprints, never a value.
//
// The root of service wires it for the Keys tab, the rotation and the commands. Find keeps no state
// and is safe for concurrent use.
package radius
