//go:build !unix

package h1

// alive cannot be told here, so a connection is kept for a moment only.
func (c *conn) alive() bool { return false }
