package drift

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
)

func TestAContractOfTheFolderHolds(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 9, many(30, whole))
	file := writeContract(t, m, "dataset = \"gd_x\"\n")
	if v := show(t, m).Verdict; v.State != First || !v.Judged() || !v.Contract {
		t.Errorf("%+v", v)
	}
	write := func(text string) {
		t.Helper()
		noerr.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("dataset = \"gd_x\"\n[[fields]]\nname = \"stock\"\nrequired = true\n")
	if v := show(t, m).Verdict; v.State != Drift || v.Findings[0].Field != "stock" {
		t.Errorf("%+v", v)
	}
	for _, text := range []string{"x", "dataset = \"gd_y\""} {
		write(text)
		list, err := m.Standings(t.Context(), "p", nil)
		var fault *textfile.Error
		if !errors.As(err, &fault) || len(list) != 1 || list[0].Verdict.Contract {
			t.Errorf("%q: %v, %+v", text, err, list)
		}
	}
	names := map[string]bool{}
	for _, name := range []string{"gd_x", "GD_X", "a/b", "a_b", strings.Repeat("x", 300), "..", "é"} {
		file, err := m.ContractFile(Target, name)
		noerr.Must(t, err)
		if names[file] || filepath.Dir(file) != m.cfg.ContractsDir || len(filepath.Base(file)) > 100 {
			t.Errorf("%s: %s", name, file)
		}
		names[file] = true
	}
}

// A contract's text names its collector; the name of its file does not matter.
func TestAContractCountsByWhatItIsOf(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	result(t, m, "job-1", 9, many(30, whole))
	dir := m.cfg.ContractsDir
	folder := func(files map[string]string) {
		t.Helper()
		noerr.Must(t, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)))
		for name, text := range files {
			noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	const wants = "[[fields]]\nname = \"stock\"\nrequired = true\n"
	mine, other := "dataset = \"gd_x\"\n"+wants, "dataset = \"gd_y\"\n"+wants
	for name, c := range map[string]struct {
		files map[string]string
		holds bool
		file  string // the collector's contract
		said  string // error of the folder
		mine  string // error of the collector; "=" for the same
	}{
		"by any name":              {map[string]string{"p.toml": mine}, true, "p.toml", "", ""},
		"beside one of another":    {map[string]string{"a.toml": other, "p.toml": mine}, true, "p.toml", "", ""},
		"of an editor, or no TOML": {map[string]string{".#p.toml": mine, "p.toml~": mine, "p.txt": mine}, false, "dataset-gd_x.toml", "", ""},
		"two":                      {map[string]string{"a.toml": mine, "p.toml": "# of the shop\n" + mine}, false, "", "p.toml:2:1: a second contract for dataset \"gd_x\": the first is DIR/a.toml; expected one file for each collector", "="},
		"a type that is none": {
			map[string]string{"p.toml": mine + "type = \"nummer\"\n"},
			false, "",
			"p.toml:5:1: \"nummer\" is not a type; expected one of text, number, boolean, list, object", "=",
		},
		"another's that is broken": {map[string]string{"a.toml": other + "x = 1\n", "p.toml": mine}, true, "p.toml", `a.toml:5:1: unknown field "x"; expected one of coverage, name, pattern, required, type`, ""},
		"one that may be its":      {map[string]string{"p.toml": "dataset = \n"}, false, "", "p.toml:1:11: unexpected character U+000A at start of value", "="},
		"one that may be anyone's": {map[string]string{"a.toml": "dataset = \n", "p.toml": mine}, true, "p.toml", "a.toml:1:11: unexpected character U+000A at start of value", ""},
		"the file of another":      {map[string]string{"dataset-gd_x.toml": other}, false, "", `dataset-gd_x.toml:1:1: the contract is for dataset "gd_y"; expected dataset = "gd_x" in this file, or another name for it`, "="},
	} {
		t.Run(name, func(t *testing.T) {
			folder(c.files)
			list, err := m.Standings(t.Context(), "p", nil)
			var fault *textfile.Error
			if c.said != "" && (!errors.As(err, &fault) || strings.ReplaceAll(err.Error(), dir, "DIR") != "DIR/"+c.said) || c.said == "" && err != nil {
				t.Errorf("of the folder: %v", err)
			}
			if len(list) != 1 || list[0].Verdict.Contract != c.holds || c.holds && words(list[0].Verdict.Findings) != "missing stock" {
				t.Errorf("%+v", list)
			}
			file, err := m.ContractFile(Dataset, "gd_x")
			if c.mine == "=" {
				c.mine = c.said
			}
			if c.mine != "" && (err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != "DIR/"+c.mine) || c.mine == "" && (err != nil || file != filepath.Join(dir, c.file)) {
				t.Errorf("%s, %v", file, err)
			}
		})
	}
}

func TestAContractThatCannotBeReadIsSaid(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	p := filepath.Join(m.cfg.ContractsDir, "p.toml")
	noerr.Must(t, os.MkdirAll(p, 0o700))
	var fault *textfile.Error
	if _, err := m.Standings(t.Context(), "p", nil); !errors.As(err, &fault) || fault.File != p || fault.Msg == "" {
		t.Errorf("a folder: %v", err)
	}
	m.cfg.ContractsDir = filepath.Join(t.TempDir(), "contracts")
	noerr.Must(t, os.WriteFile(m.cfg.ContractsDir, nil, 0o600))
	if _, err := m.Standings(t.Context(), "p", nil); !errors.As(err, &fault) || fault.File != m.cfg.ContractsDir {
		t.Errorf("a file in place of the folder: %v", err)
	}
}

func TestATargetOfAContractMayBeAnAddress(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	noerr.Must(t, os.MkdirAll(m.cfg.ContractsDir, 0o700))
	for _, target := range []string{"lab.test/product/*", "http://lab.test/product/4?x=1", "LAB.test/product/7/"} {
		noerr.Must(t, os.WriteFile(filepath.Join(m.cfg.ContractsDir, "p.toml"), []byte("target = \""+target+"\""), 0o600))
		if c, err := m.Contract(Target, "lab.test/product/*"); c == nil || err != nil {
			t.Errorf("%s: %v, %v", target, c, err)
		}
	}
}
