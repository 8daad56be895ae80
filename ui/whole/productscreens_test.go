package whole

import "zonedeck/ui/uitest"

// productScreens show how the zone's product, and the way, shape the Sandbox's form.
func productScreens() []screen {
	inForm := func(after string, keys []string, texts ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			fromHistory(p, after)
			p.Press(append([]string{"esc"}, keys...)...)
			p.WaitFor(texts...)
		}
	}
	return []screen{
		{
			name: "sandbox/serp", before: before("request", "--zone", "serp_demo", "--query", "red lentil", "--page", "1", "--country", "de", "--parsed"),
			steps: inForm("serp_demo", nil, "red lentil", "the results as JSON"),
		},
		{
			name: "sandbox/agent", before: before("request", "--via", "agent", "--tool", "search_engine", "--arg", "query=red lentil", "--arg", "engine=bing"),
			steps: inForm("search_engine", nil, "query *", "red lentil", "bing"),
		},
		{
			name: "sandbox/agent-page", before: before("request", "http://lab.test/shop", "--via", "agent"),
			steps: inForm("Agent", []string{"down", "down", "enter"}, "fetch the URL", "scrape_as_markdown"),
		},
		{
			name: "sandbox/browser", before: before("request", "http://lab.test/forbidden", "--zone", "browser_demo", "--retries", "0"),
			steps: inForm("browser_demo", []string{"down", "down", "right", "right", "right"}, "(•) Browser", "Country"),
		},
	}
}
