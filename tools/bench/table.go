package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// report is the tables that were printed.
type report struct {
	tables []table
}

// table is one of docs/benchmarks.md, which has it under the same name.
type table struct {
	name string
	rows []string
}

// section begins a table. Its rows follow.
func (r *report) section(name string, columns ...string) {
	fmt.Printf("\n### %s\n\n", name)
	r.tables = append(r.tables, table{name: name})
	r.row(columns...)
	r.line(strings.Repeat("|---", len(columns)) + "|")
}

func (r *report) row(cells ...string) { r.line("| " + strings.Join(cells, " | ") + " |") }

func (r *report) line(text string) {
	fmt.Println(text)
	last := &r.tables[len(r.tables)-1]
	last.rows = append(last.rows, text)
}

// write puts each table into a document in the place of the one that follows its mark, which is a comment:
// <!-- table: its name -->. A table without a mark is only printed.
func (r *report) write(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, t := range r.tables {
		at := slices.Index(lines, mark(t.name))
		if at < 0 {
			continue
		}
		end := at + 1
		for end < len(lines) && strings.HasPrefix(lines[end], "|") {
			end++
		}
		lines = slices.Replace(lines, at+1, end, t.rows...)
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}

func mark(name string) string { return "<!-- table: " + name + " -->" }

// hasKnownTables returns an error if a document has the mark of a table that no part prints.
func hasKnownTables(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var marks []string
	for _, p := range parts {
		for _, name := range p.tables {
			marks = append(marks, mark(name))
		}
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "<!-- table: ") && !slices.Contains(marks, line) {
			return fmt.Errorf("%s has %s, which is not measured", path, line)
		}
	}
	return nil
}

// Cells as the tables show them.

func ratio(r float64) string { return fmt.Sprintf("**%.2f**", r) }

func perSecond(n float64) string {
	if n < 10_000 {
		return fmt.Sprintf("%.0f/s", n)
	}
	return fmt.Sprintf("%d,%03d/s", int(n)/1000, int(n)%1000)
}

func ms(d time.Duration) string {
	switch v := float64(d) / float64(time.Millisecond); {
	case v < 1:
		return fmt.Sprintf("%.2f ms", v)
	case v < 10:
		return fmt.Sprintf("%.1f ms", v)
	default:
		return fmt.Sprintf("%.0f ms", v)
	}
}

func mb(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

// named is an engine as the tables name it.
func (e engine) named() string {
	if e.driver == "sqlite" {
		return "SQLite"
	}
	return "PostgreSQL"
}
