// Package saved keeps the operator's saved requests: one plain TOML file per
// request, in folders below one, with the key by name and never a secret. Texts of a
// request may hold variables.
//
// The Sandbox saves and opens them; people may edit, copy and commit the files
// by hand, so everything read back is checked. A Store holds no state besides
// the folder's path: it is safe for concurrent use, in one process and in
// several, and the last writer of a name wins.
package saved
