package browser

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

func TestTheBrowserEndsWithAKilledEmulator(t *testing.T) {
	needChromium(t)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	if len(running(t, dir)) < 2 {
		t.Fatal("no browser")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	eventually(t, "the browser ended too", func() bool { return len(running(t, dir)) == 0 })
	b := open(t, Config{Dir: dir})
	for _, link := range links(b.dir) {
		if leadsTo(link, b.dir) {
			t.Errorf("%s is left", link)
		}
	}
	if n := folders(t, b.dir); n != 0 {
		t.Errorf("%d folders are left", n)
	}
}
