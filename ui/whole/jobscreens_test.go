package whole

import (
	"path/filepath"

	"zonedeck/ui/uitest"
)

func jobScreens(silent string) []screen {
	launched := func(h *home) {
		h.write("urls.txt", "http://lab.test/shop\nhttp://lab.test/product/1\n")
		h.run("jobs", "trigger", "gd_products", "--input", filepath.Join(h.dir, "urls.txt"), "--wait")
	}
	list := func(texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			ready(p)
			p.Press("2")
			p.WaitFor(texts...)
		}
	}
	return []screen{
		{name: "jobs/empty", steps: list("no jobs yet")},
		{name: "jobs/may-have-started", before: func(h *home) {
			h.write("urls.txt", "http://lab.test/ok\n")
			h.env["ZONEDECK_API_KEY"] = "a-key-of-nobody"
			h.run("--base-url", silent, "jobs", "trigger", "gd_reviews", "--input", filepath.Join(h.dir, "urls.txt"))
			delete(h.env, "ZONEDECK_API_KEY")
		}, steps: list("may have")},
		{name: "jobs/new", steps: func(p *uitest.Whole) {
			list("no jobs yet")(p)
			p.Press("n")
			p.WaitFor("7 data sets")
			p.Type("Any page")
			p.WaitFor("Any page")
			p.Press("enter")
			p.WaitFor("Dataset", "url *")
		}},
		{name: "jobs/typed", steps: func(p *uitest.Whole) {
			list("no jobs yet")(p)
			p.Press("n")
			p.WaitFor("7 data sets")
			p.Type("gd_search")
			p.WaitFor("Lab search")
			p.Press("enter")
			p.WaitFor("keyword *", "costs")
		}},
		{name: "jobs/deep-lookup", steps: func(p *uitest.Whole) {
			list("no jobs yet")(p)
			p.Press("n")
			p.WaitFor("7 data sets")
			p.Type("deep")
			p.WaitGone("Lab shop")
			p.Press("enter")
			p.WaitFor("result_limit", "query *")
			p.Type("espresso machine price")
			p.WaitFor("machine price")
		}},
		{name: "jobs/discover", steps: func(p *uitest.Whole) {
			list("no jobs yet")(p)
			p.Press("n")
			p.WaitFor("7 data sets")
			p.Type("pages of the web")
			p.WaitGone("Lab shop")
			p.Press("enter")
			p.WaitFor("num_results", "query *")
		}},
		{name: "jobs/datasets", steps: func(p *uitest.Whole) {
			list("no jobs yet")(p)
			p.Press("n")
			p.WaitFor("New job: 7 data sets", "Lab search")
		}},
		{name: "jobs/filter", before: launched, steps: func(p *uitest.Whole) {
			list("ready")(p)
			p.Press("/")
			p.WaitFor("state:failed")
			p.Type("state:ready dataset:gd_p")
			p.WaitFor("1 of 1")
			p.Press("enter")
			p.WaitFor("esc shows all")
			p.Press("z") // whether a question came while the job ran is chance, and its history shows it
			p.WaitGone("created   ")
			p.WaitFor("Jobs (1")
		}},
		{name: "jobs/preview", before: launched, steps: func(p *uitest.Whole) {
			list("ready")(p)
			p.Press("p")
			p.WaitFor("Brass desk lamp")
		}},
	}
}
