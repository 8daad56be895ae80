package fetch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// BenchmarkTwinBesideCurl compares 20 zones by both methods with the same 40 calls by
// "curl --parallel", as many at once: of a page that comes at once, and of one that takes
// 300 ms. The history is kept. It reports how much longer the twin takes.
func BenchmarkTwinBesideCurl(b *testing.B) {
	if _, err := exec.LookPath("curl"); err != nil {
		b.Skip("install curl to run this benchmark")
	}
	const zones = 20
	text := "[[keys]]\nname = \"reader\"\nlevel = \"USER\"\n"
	for i := range zones {
		text += fmt.Sprintf("[[zones]]\nname = \"dc%d\"\nproduct = \"datacenter\"\n", i)
	}
	account, err := scenario.Parse("account.toml", []byte(text))
	noerr.Must(b, err)
	demo := servicetest.Emulator(b, emulator.Options{Scenario: account})
	history, _ := servicetest.Journal(b)
	p := demo.Profile
	p.Key = "reader"
	ft := newFetcher(b, p, func(c *Config) {
		c.Source, c.Journal = servicetest.Source{Base: c.Source, SecretBy: demo.Secret, KeyBy: demo.Key}, history
	})
	for name, page := range map[string]string{"at_once": "http://lab.test/ok", "300ms": "http://lab.test/slow?s=0.3"} {
		b.Run(name, func(b *testing.B) {
			twin := model.Grid{Base: model.FetchRequest{URL: page}, Repeat: 1}
			config, n := "silent\nparallel\nparallel-immediate\n", 0
			for i := range zones {
				z, _ := p.Zone(fmt.Sprintf("dc%d", i))
				key, _ := demo.Key("reader")
				secret, _ := demo.Secret(b.Context(), key.Secret)
				password, _ := demo.Secret(b.Context(), z.Password)
				twin.Cells = append(twin.Cells, model.Cell{Vary: model.Vary{Zone: z, Via: model.ViaAPI}}, model.Cell{Vary: model.Vary{Zone: z, Via: model.ViaNative}})
				config += fmt.Sprintf("url = %q\nheader = \"Authorization: Bearer %s\"\njson = %q\noutput = /dev/null\nnext\nsilent\n",
					p.BaseURL+"/request", secret.Reveal(), fmt.Sprintf(`{"zone":%q,"url":%q,"format":"raw"}`, z.Name, page))
				config += fmt.Sprintf("url = %q\nproxy = %q\nproxy-user = \"%s-customer-%s-zone-%s:%s\"\noutput = /dev/null\nnext\nsilent\n",
					page, "http://"+p.ProxyAddr(), p.UsernamePrefix, p.Account, z.Name, password.Reveal())
				n += 2
			}
			file := filepath.Join(b.TempDir(), "curl.conf")
			noerr.Must(b, os.WriteFile(file, []byte(strings.TrimSuffix(config, "next\nsilent\n")), 0o600))
			most := fmt.Sprint(exchange.LimitOf(model.ProductDatacenter).Concurrency)
			var ours, curls time.Duration
			for b.Loop() {
				began := time.Now()
				out, err := exec.CommandContext(b.Context(), "curl", "--fail", "--parallel", "--parallel-max", most, "-K", file).CombinedOutput()
				if err != nil {
					b.Fatalf("curl: %v\n%s", err, out)
				}
				curls += time.Since(began)
				began = time.Now()
				got, err := ft.Compare(b.Context(), twin, nil)
				ours += time.Since(began)
				noerr.Must(b, err)
				for _, c := range got.Cells {
					if c.OK() != 1 {
						b.Fatalf("%s by %s: %s%+v", c.Zone.Name, c.Via, c.Problem, c.Runs)
					}
				}
				if len(got.Cells) != n {
					b.Fatalf("%d cells beside %d calls", len(got.Cells), n)
				}
			}
			b.ReportMetric(float64(ours)/float64(curls), "x-curl")
			b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/twin")
			b.ReportMetric(float64(curls.Milliseconds())/float64(b.N), "ms/curl")
		})
	}
}
