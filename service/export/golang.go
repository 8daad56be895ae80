package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeGo writes a program for Go that needs the standard library alone.
func writeGo(c call) (string, error) {
	imports := map[string]bool{"fmt": true, "io": true, "log": true, "net/http": true, "os": true, "time": true}
	var b strings.Builder
	body := "nil"
	if c.body != "" {
		imports["strings"] = true
		body = "strings.NewReader(" + goString(c.body) + ")"
	}
	secret := "os.Getenv(" + goString(c.Env()) + ")"
	if c.Secret != "" {
		secret = goString(c.Secret)
	} else {
		fmt.Fprintf(&b, "\tif %s == \"\" {\n\t\tlog.Fatal(%s)\n\t}\n", secret, goString(c.Env()+" is not set"))
	}
	b.WriteString("\ttransport := &http.Transport{DisableCompression: true}\n")
	if c.byProxy() {
		imports["net/url"] = true
		fmt.Fprintf(&b, "\ttransport.Proxy = http.ProxyURL(&url.URL{\n\t\tScheme: \"http\",\n\t\tHost:   %s,\n\t\tUser:   url.UserPassword(%s, %s),\n\t})\n", goString(c.proxy), goString(c.user), secret)
	}
	c.goTrust(&b, imports)
	fmt.Fprintf(&b, "\trequest, err := http.NewRequest(%s, %s, %s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", goString(c.method), goString(c.url), body)
	if !c.byProxy() {
		fmt.Fprintf(&b, "\trequest.Header.Set(\"Authorization\", \"Bearer \"+%s)\n", secret)
	}
	for _, l := range c.header {
		if l.name == "Host" {
			fmt.Fprintf(&b, "\trequest.Host = %s\n", goString(l.value))
			continue
		}
		fmt.Fprintf(&b, "\trequest.Header.Add(%s, %s)\n", goString(l.name), goString(l.value))
	}
	fmt.Fprintf(&b, "\tclient := &http.Client{\n\t\tTransport:     transport,\n\t\tTimeout:       %d * time.Second,\n", c.seconds())
	b.WriteString("\t\tCheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },\n\t}\n")
	b.WriteString("\tanswer, err := client.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer answer.Body.Close()\n")
	b.WriteString("\tfmt.Fprintln(os.Stderr, answer.Status)\n\tif _, err := io.Copy(os.Stdout, answer.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}\n")

	var head strings.Builder
	head.WriteString(comment("//", c.remarks("go run fetch.go", false)))
	head.WriteString("package main\n\nimport (\n")
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&head, "\t%q\n", name)
	}
	return head.String() + ")\n\nfunc main() {\n" + b.String() + "}\n", nil
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
