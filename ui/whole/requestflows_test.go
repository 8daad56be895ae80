package whole

import "testing"

func TestNextStepsKeepWhatWasEditedSince(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.run("request", "http://lab.test/captcha", "--zone", "datacenter_demo")
	p := h.open(200, 60)
	fromHistory(p, "CAPTCHA", "[u] try zone unlocker_demo")
	p.Press("esc", "down", "enter")
	p.Type("?edited")
	p.PressFor("enter", "http://lab.test/captcha?edited")
	p.PressFor("u", "The form now has zone unlocker_demo", "http://lab.test/captcha?edited")
	p.Press("alt+r", "t") // by Native, which sends it
	p.WaitFor("✓ ok   200 · Native")
	p.PressFor("5", "1 of 2", "unlocker_demo · Native", " http://lab.test/captcha?edited")
}

func TestMotionKeysMoveInMenusAndDialogs(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(120, 40)
	ready(p)
	p.PressFor("y", "›b    body")
	p.PressFor("j", "›h    headers")
	p.PressFor("k", "›b    body")
	p.PressFor("esc 4", "[4 Keys")
	p.PressFor("a", "Record a key")
	p.Press("down", "j") // from the name to the level, and on
	p.WaitFor("›Duty", "e.g. etl-main")
	p.PressFor("k", "›Level", "e.g. etl-main")
	p.Press("j", "j", "j") // over a field of text, which is at rest
	p.WaitFor("›Made on", "e.g. 2027-01-31")
}
