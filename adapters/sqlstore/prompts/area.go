package prompts

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what prompts add to what concerns all areas.
var Area = db.Area{AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.Prompts = &Prompts{store}
	s.PromptLists = &PromptLists{store}
	s.PromptReads = &PromptReads{store}
	s.PromptFolders = &PromptFolders{store}
}
