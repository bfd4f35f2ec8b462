package sqlstore

import (
	"encoding/json"
	"strings"

	"github.com/atrium-hq/atrium/domain/chat"
)

// chatConfigs are kept apart from the ids that they belong to, so that lists need not read them.
type chatConfigs struct {
	Agents []json.RawMessage `json:"agents"`
	Tools  []json.RawMessage `json:"tools"`
}

// text returns the JSON that fromJSON reads. Configurations stay as they were sent, except for the space between
// their tokens.
func (c chatConfigs) text() (string, error) {
	if len(c.Agents)+len(c.Tools) == 0 {
		return "", nil
	}
	return unescaped(c)
}

// unescaped returns the JSON of v, in which raw JSON stays as it was sent.
func unescaped(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.String(), err
}

func replyText(r chat.Reply) (string, error) {
	if !r.Answers() {
		return "", nil
	}
	return unescaped(r)
}

// themeText returns the JSON that readTheme reads; empty for the zero theme.
func themeText(t chat.Theme) (string, error) {
	if t.Same(chat.Theme{}) {
		return "", nil
	}
	return unescaped(t)
}

func readTheme(text string) (t chat.Theme, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &t)
	}
	return t, err
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
