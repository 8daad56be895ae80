package whole

import (
	"path/filepath"
	"testing"
)

func TestAJobThatIsRefusedSaysWhatToDoInJobsAndHistory(t *testing.T) {
	t.Parallel()
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	h.write("urls.txt", "http://shop.test/1\n")
	h.run("jobs", "trigger", "gd_too_fast", "--input", filepath.Join(h.dir, "urls.txt"))
	h.run("jobs", "trigger", "gd_failed", "--wait", "--input", filepath.Join(h.dir, "urls.txt"))
	p := h.open(120, 40)
	acmeReady(p)
	p.PressFor("esc 2", "service error (job)", "evidence  the service says", "do next   [1] try a few of its URLs")
	p.PressFor("down", "too fast (trigger)", "evidence  429 Too Many Requests", "do next   ·   lower the concurrency", "do next   [a] try again after 1m30s")
	p.PressFor("5", "service error", "· next: try a few of its URLs")
	p.PressFor("down down", "! too fast", "· next: lower the concurrency and back", "off; try again after 1m30s, as the answer asks")
}
