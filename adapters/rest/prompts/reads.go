package prompts

import (
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
)

const (
	maxReadLines = 2000
	readDays     = 30 // if the caller names none
)

func listPromptReads(r *server.Call) (server.Reply, error) {
	days, err := strconv.Atoi(r.Query.Get("days"))
	if err != nil {
		days = readDays
	}
	reads, complete, err := r.Prompts.Reads(r.Context(), r.By, promptID(r), days, maxReadLines)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.PromptReads{Data: make([]openapi.PromptRead, len(reads)), Complete: complete}
	for i, read := range reads {
		out.Data[i] = openapi.PromptRead{
			Date:          read.Day.String(),
			VersionID:     string(read.Version),
			VersionNumber: read.Number,
			Reads:         read.Count,
		}
	}
	return server.OK(out), nil
}
