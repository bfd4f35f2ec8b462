package chats

import (
	"encoding/json"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
)

// chatConfigs are kept apart from the ids that they belong to, so that lists need not read them.
type chatConfigs struct {
	Agents []json.RawMessage `json:"agents"`
	Tools  []json.RawMessage `json:"tools"`
}

// text returns the JSON that db.FromJSON reads. Configurations stay as they were sent, except for the space between
// their tokens.
func (c chatConfigs) text() (string, error) {
	if len(c.Agents)+len(c.Tools) == 0 {
		return "", nil
	}
	return db.UnescapedJSON(c)
}

func replyText(r chat.Reply) (string, error) {
	if !r.Answers() {
		return "", nil
	}
	return db.UnescapedJSON(r)
}

func selected(ids []string, configs []json.RawMessage) []chat.Selected {
	out := make([]chat.Selected, len(ids))
	for i, id := range ids {
		out[i].ID = id
		if i < len(configs) && string(configs[i]) != "null" {
			out[i].Config = configs[i]
		}
	}
	return out
}

func unselected(list []chat.Selected) (ids []string, configs []json.RawMessage) {
	for _, s := range list {
		ids, configs = append(ids, s.ID), append(configs, s.Config)
	}
	return ids, configs
}
