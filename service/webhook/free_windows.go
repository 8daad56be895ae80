package webhook

import "golang.org/x/sys/windows"

// freeBytes is how many bytes a user may still write on the disk of a folder.
func freeBytes(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	}
	return free, err
}
