package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeGo writes a program for Go that needs the standard library alone, unless it looks for required fields.
func writeGo(c call) (string, error) {
	c = c.asksForGzip()
	imports := map[string]bool{"fmt": true, "io": true, "log": true, "net/http": true, "os": true, "regexp": true, "strings": true, "time": true}
	parts := c.checked()
	imports["strconv"], imports["encoding/json"] = parts["api"], parts["wrapped"]
	var b strings.Builder
	body := "nil"
	if c.body != "" {
		body = "strings.NewReader(" + goString(c.body) + ")"
	}
	secret := "os.Getenv(" + goString(c.Env()) + ")"
	if c.Secret != "" {
		secret = goString(c.Secret)
	} else {
		fmt.Fprintf(&b, "\tif %s == \"\" {\n\t\tlog.Fatal(%s)\n\t}\n", secret, goString(c.Env()+" is not set"))
	}
	b.WriteString("\ttransport := &http.Transport{}\n")
	if c.byProxy() {
		imports["net/url"] = true
		fmt.Fprintf(&b, "\ttransport.Proxy = http.ProxyURL(&url.URL{\n\t\tScheme: \"http\",\n\t\tHost:   %s,\n\t\tUser:   url.UserPassword(%s, %s),\n\t})\n", goString(c.proxy), goString(c.user), secret)
	}
	if c.AtOnce > 0 {
		fmt.Fprintf(&b, "\ttransport.MaxConnsPerHost = %d\n", c.AtOnce)
	}
	c.goTrust(&b, imports)
	fmt.Fprintf(&b, "\trequest, err := http.NewRequest(%s, %s, %s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", goString(c.method), goString(c.url), body)
	if !c.byProxy() {
		fmt.Fprintf(&b, "\trequest.Header.Set(\"Authorization\", \"Bearer \"+%s)\n", secret)
	}
	for _, l := range c.header {
		switch {
		case l.name == "Host":
			fmt.Fprintf(&b, "\trequest.Host = %s\n", goString(l.value))
		case l.name != "Accept-Encoding": // which the transport sends, and undoes, by itself
			fmt.Fprintf(&b, "\trequest.Header.Add(%s, %s)\n", goString(l.name), goString(l.value))
		}
	}
	fmt.Fprintf(&b, "\tclient := &http.Client{\n\t\tTransport:     transport,\n\t\tTimeout:       %d * time.Second,\n", c.seconds())
	b.WriteString("\t\tCheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },\n\t}\n")
	b.WriteString("\tanswer, err := client.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer answer.Body.Close()\n")
	b.WriteString("\tbody, err := io.ReadAll(answer.Body)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Fprintln(os.Stderr, answer.Status)\n\tos.Stdout.Write(body)\n")
	b.WriteString("\tif why := problem(answer, body); why != \"\" {\n\t\tfmt.Fprintln(os.Stderr, \"not ok:\", why)\n\t\tos.Exit(1)\n\t}\n\tfmt.Fprintln(os.Stderr, \"ok\")\n}\n")

	var head strings.Builder
	run, libraries := "go run fetch.go", ""
	if parts["required"] {
		run, libraries = "go mod init fetch; go mod tidy; go run fetch.go", "\n\t\"github.com/PuerkitoBio/goquery\"\n\t\"github.com/tidwall/gjson\"\n"
	}
	head.WriteString(comment("//", c.remarks(run, false)))
	head.WriteString("package main\n\nimport (\n")
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if imports[name] {
			fmt.Fprintf(&head, "\t%q\n", name)
		}
	}
	return head.String() + libraries + ")\n\nfunc main() {\n" + b.String() + c.check(goCheck, "\t\t", goString, goPattern), nil
}

// goTrust writes what the program trusts besides the system's authorities.
func (c call) goTrust(b *strings.Builder, imports map[string]bool) {
	switch {
	case c.trusts:
		imports["crypto/tls"] = true
		b.WriteString("\ttransport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}\n")
	case c.ca != "":
		imports["crypto/tls"], imports["crypto/x509"] = true, true
		fmt.Fprintf(b, "\tpem, err := os.ReadFile(%s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", goString(c.ca))
		b.WriteString("\tpool, err := x509.SystemCertPool()\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tif !pool.AppendCertsFromPEM(pem) {\n\t\tlog.Fatal(\"the file of the authority holds no certificate\")\n\t}\n")
		b.WriteString("\ttransport.TLSClientConfig = &tls.Config{RootCAs: pool}\n")
	}
}
