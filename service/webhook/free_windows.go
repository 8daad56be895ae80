package webhook

import "golang.org/x/sys/windows"

// freeBytes is how much a user may still write where a folder is.
func freeBytes(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	}
	return free, err
}
