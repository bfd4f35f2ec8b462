package main

import (
	"fmt"
	"strings"
	"time"
)

// section prints the head of a table of docs/benchmarks.md: what is printed can be pasted there. Its rows
// follow.
func section(title string, columns ...string) {
	fmt.Printf("\n### %s\n\n", title)
	row(columns...)
	fmt.Println(strings.Repeat("|---", len(columns)) + "|")
}

func row(cells ...string) { fmt.Println("| " + strings.Join(cells, " | ") + " |") }

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
