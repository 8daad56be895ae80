package browser

import (
	"errors"
	"fmt"
	"os/exec"
)

// ErrNoChromium is the error of every call on a machine without Chromium.
var ErrNoChromium = errors.New("no Chromium on this machine: install the package chromium (or chromium-browser, google-chrome) or name the program in CHROME_PATH")

// Find returns the path of the Chromium to run: path if it is not empty, else the first of
// chromium, chromium-browser, google-chrome and google-chrome-stable in PATH. Its error
// wraps [ErrNoChromium].
func Find(path string) (string, error) {
	if path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("%w (%w)", ErrNoChromium, err)
		}
		return found, nil
	}
	for _, name := range [...]string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", ErrNoChromium
}
