package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table prints rows. On a terminal the columns are aligned and have names; other programs get tabs and no names.
func (p *process) table(names []string, rows [][]string) error {
	out := p.stdout
	if !p.atTerminal() {
		for _, row := range rows {
			if _, err := fmt.Fprintln(out, strings.Join(row, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{names}, rows...) {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}
