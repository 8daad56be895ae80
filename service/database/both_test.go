package database

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// statement matches a string with SQL or a part of it.
var statement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|WHERE|ORDER BY|PRAGMA|REPLACE)\b|\b(FROM|WHERE|VALUES|ORDER BY|LIKE) `)

// sqliteAlone matches words that PostgreSQL does not have, or understands differently.
var sqliteAlone = regexp.MustCompile(`(?i)\?|"[a-z_]+" *(=|,|\))|` + "`" + `|\[[a-z_]+\]|==|\b(PRAGMA|AUTOINCREMENT|WITHOUT ROWID|INSERT OR|UPDATE OR|REPLACE INTO|GLOB|REGEXP|MATCH|NOCASE|BLOB|DATETIME|` +
	`ROWID|IFNULL|INSTR|STRFTIME|JULIANDAY|UNIXEPOCH|TOTAL|GROUP_CONCAT|RANDOMBLOB|HEX|TYPEOF|JSON_EXTRACT|PRINTF|CHANGES\(\)|LAST_INSERT_ROWID|SQLITE_\w+|ATTACH|VACUUM)\b|x'|LIMIT [^ ]+, `)

// onSQLiteAlone is the first part of a statement that PostgreSQL does not understand, or "".
func onSQLiteAlone(sql string) string { return sqliteAlone.FindString(sql) }

// TestStatementsAreThoseOfBothDatabases looks for words of SQLite in the statements of the ledger and the inbox,
// which have to work on PostgreSQL, too. The tests of those packages run them on a server (see postgrestest).
func TestStatementsAreThoseOfBothDatabases(t *testing.T) {
	for _, room := range []string{"ledger", "webhook"} {
		files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		seen := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			noerr.Must(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				sql, err := strconv.Unquote(lit.Value)
				if err != nil || !statement.MatchString(sql) {
					return true
				}
				seen++
				if word := onSQLiteAlone(sql); word != "" {
					t.Errorf("%s: %q is SQLite's alone: %s", set.Position(lit.Pos()), word, sql)
				}
				return true
			})
		}
		if seen < 10 {
			t.Errorf("%s: %d statements were found", room, seen)
		}
	}
}

func TestWhatIsOfSQLiteAlone(t *testing.T) {
	for sql, want := range map[string]string{
		"INSERT OR IGNORE INTO jobs (n) VALUES ($1)":           "INSERT OR",
		"SELECT n FROM jobs WHERE n = ?":                       "?",
		"SELECT ifnull(max(n), 0) FROM jobs":                   "ifnull",
		"SELECT n FROM jobs WHERE state == 'ready'":            "==",
		"CREATE TABLE t (n INTEGER PRIMARY KEY AUTOINCREMENT)": "AUTOINCREMENT",
		"ALTER TABLE t ADD COLUMN b BLOB":                      "BLOB",
		"SELECT rowid FROM jobs":                               "rowid",
		`SELECT n FROM jobs WHERE state IN ("ready")`:          `"ready")`,
		"SELECT n FROM jobs LIMIT 5, 10":                       "LIMIT 5, ",
		"SELECT n, coalesce(sum(size), 0) FROM t WHERE a LIKE $1 ESCAPE '\\' ORDER BY n DESC LIMIT $2": "",
		"UPDATE marks SET number = number + 1 RETURNING number":                                        "",
	} {
		if got := onSQLiteAlone(sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
