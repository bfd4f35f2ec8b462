package main

import (
	"os"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

// probeWorkerCommand is started by Atrium itself, never by people. It does one job that parses a tenant's data, and
// ends.
type probeWorkerCommand struct {
	Warehouses string `arg:"" help:"Folder of the SQLite files that connections may name."`
	Sheets     string `arg:"" help:"Folder of the spreadsheets that sources may name."`
}

func (c *probeWorkerCommand) Run() error {
	kinds := node.Warehouses(c.Warehouses)
	documents := sheet.NewDocuments(node.SheetGuard, nil, c.Sheets, sheet.DefaultLimits())
	os.Exit(confine.Serve(map[string]confine.Job{
		warehouse.JobName: {
			Do:     warehouse.Job(kinds),
			Stream: warehouse.StreamJob(kinds),
			Needs:  warehouse.Needs(c.Warehouses),
			Warm:   warehouse.Warm,
		},
		sheet.JobName: {Do: sheet.Job(documents), Stream: sheet.RowsJob(documents), Needs: sheet.Needs(c.Sheets)},
	}, os.Stdin, os.Stdout))
	return nil
}
