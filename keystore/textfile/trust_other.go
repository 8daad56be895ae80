//go:build !unix

package textfile

import "io/fs"

func doubt(fs.FileInfo, int, func(gid, uid int) bool) string { return "" }

func ownGroup(int, int) bool { return true }
