package whole

import "testing"

func TestNextStepsKeepWhatWasEditedSince(t *testing.T) {
	h := newHome(t)
	h.run("request", "http://lab.test/captcha", "--zone", "datacenter_demo")
	p := h.open(200, 60)
	fromHistory(p, "CAPTCHA", "[u] try zone unlocker_demo")
	p.Press("esc", "down", "enter")
	p.Type("?edited")
	p.Press("enter")
	p.WaitFor("http://lab.test/captcha?edited")
	p.Press("u")
	p.WaitFor("The form has zone unlocker_demo now", "http://lab.test/captcha?edited")
	p.Press("t") // by Native, which sends it
	p.WaitFor("✓ ok   200 · Native")
	p.Press("5")
	p.WaitFor("1 of 2", "unlocker_demo · Native", " http://lab.test/captcha?edited")
}

func TestMotionKeysMoveInMenusAndDialogs(t *testing.T) {
	p := newHome(t).open(120, 40)
	ready(p)
	p.Press("y")
	p.WaitFor("›b    body")
	p.Press("j")
	p.WaitFor("›h    headers")
	p.Press("k")
	p.WaitFor("›b    body")
	p.Press("esc", "4")
	p.WaitFor("[4 Keys")
	p.Press("a")
	p.WaitFor("Record a key")
	p.Press("down", "j") // from the name to the level, and on
	p.WaitFor("›Duty", "e.g. etl-main")
	p.Press("k")
	p.WaitFor("›Level", "e.g. etl-main")
	p.Press("j", "j", "j") // over a field of text, which takes no letter
	p.WaitFor("›Made on", "e.g. 2027-01-31")
}
