package rest

import (
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

const (
	maxReadLines = 2000
	readDays     = 30 // if the caller names none
)

func listPromptReads(r *request) (reply, error) {
	days, err := strconv.Atoi(r.query.Get("days"))
	if err != nil {
		days = readDays
	}
	reads, complete, err := r.Prompts.Reads(r.Context(), r.by, promptID(r), days, maxReadLines)
	if err != nil {
		return reply{}, err
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
	return ok(out), nil
}
