package prompts

import (
	"bytes"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// versionBody returns a version as JSON.
func versionBody(t *prompt.Reading, v *prompt.Version) (server.JSON, error) {
	return appendVersion(make([]byte, 0, 1<<10+len(v.Content.Text)), t, v)
}

// appendVersion appends a version as toVersion and server.Encode do, but uses reflection only for what few versions
// have. The most frequent read returns it.
func appendVersion(b []byte, t *prompt.Reading, v *prompt.Version) ([]byte, error) {
	c, j := &v.Content, versionJSON{b: b}
	j.b = server.AppendText(j.b, `{"commit_message":`, v.CommitMessage)
	j.b = server.AppendText(j.b, `,"content_hash":`, v.ContentHash)
	j.b = openapi.Time(v.CreatedAt).AppendJSON(append(j.b, `,"created_at":`...))
	j.b = server.AppendText(j.b, `,"created_by":`, string(v.CreatedBy))
	j.b = server.AppendTime(j.b, `,"first_activated_at":`, v.FirstActivatedAt)
	j.b = server.AppendText(j.b, `,"format":`, string(c.Format))
	j.b = server.AppendText(j.b, `,"id":`, string(v.ID))
	if includes := toIncludes(v); len(includes) > 0 {
		j.encode(`,"includes":`, includes)
	}
	j.b = strconv.AppendBool(append(j.b, `,"is_active":`...), t.ActiveVersion == v.ID)
	j.labels(v.Labels)
	if t.Type == prompt.Chat && len(c.Messages) > 0 {
		j.messages(c.Messages)
	}
	j.model(c.Model)
	j.b = strconv.AppendInt(append(j.b, `,"number":`...), int64(v.Number), 10)
	j.b = server.AppendText(j.b, `,"prompt_template_id":`, string(v.Template))
	if c.ResponseFormat == nil {
		j.b = append(j.b, `,"response_format":null`...)
	} else {
		j.encode(`,"response_format":`, c.ResponseFormat)
	}
	j.b = strconv.AppendInt(append(j.b, `,"revision":`...), v.Revision, 10)
	if v.Choice != nil {
		j.encode(`,"rollout":`, toChoice(v.Choice))
	}
	j.b = server.AppendText(j.b, `,"state":`, string(versionState(v.Frozen)))
	if t.Type != prompt.Chat && c.Text != "" {
		j.b = server.AppendText(j.b, `,"text":`, c.Text)
	}
	if c.Tools == nil {
		j.b = append(j.b, `,"tools":[]`...)
	} else {
		j.encode(`,"tools":`, c.Tools)
	}
	j.b = openapi.Time(v.UpdatedAt).AppendJSON(append(j.b, `,"updated_at":`...))
	j.variables(c.Variables)
	return append(j.b, "}\n"...), j.err
}

// versionJSON is the JSON of a version as far as it is written.
type versionJSON struct {
	b   []byte
	err error // the first of encode
}

// encode appends a member by reflection.
func (j *versionJSON) encode(name string, v any) {
	var value bytes.Buffer
	if err := server.Encode(&value, v); err != nil && j.err == nil {
		j.err = err
	}
	j.b = append(append(j.b, name...), bytes.TrimSuffix(value.Bytes(), []byte("\n"))...)
}

// end replaces the comma after the last of some values by the end of their array or object.
func (j *versionJSON) end(bracket byte) {
	if last := len(j.b) - 1; j.b[last] == ',' {
		j.b = j.b[:last]
	}
	j.b = append(j.b, bracket)
}

func (j *versionJSON) labels(labels []string) {
	j.b = append(j.b, `,"labels":[`...)
	for _, l := range labels {
		j.b = append(server.AppendText(j.b, "", l), ',')
	}
	j.end(']')
}

func (j *versionJSON) messages(messages []prompt.Message) {
	j.b = append(j.b, `,"messages":[`...)
	for i := range messages {
		switch m := &messages[i]; {
		case m.Placeholder != "" || m.Role == "":
			j.encode("", fromMessages(messages[i : i+1])[0])
		default:
			j.b = server.AppendText(j.b, `{"content":`, m.Content)
			j.b = append(server.AppendText(j.b, `,"role":`, m.Role), '}')
		}
		j.b = append(j.b, ',')
	}
	j.end(']')
}

func (j *versionJSON) model(m *prompt.ModelConfig) {
	if m != nil && (len(m.StopSequences) > 0 || len(m.ExtraParams) > 0 || !isPlain(m.Temperature) || !isPlain(m.TopP)) {
		j.encode(`,"model_config":`, convert.FromModel(m))
		return
	}
	j.b = append(j.b, `,"model_config":{`...)
	if m != nil {
		j.whole(`"max_tokens":`, m.MaxTokens)
		j.text(`"model_name":`, m.ModelName)
		j.text(`"provider":`, m.Provider)
		j.fraction(`"temperature":`, m.Temperature)
		j.whole(`"top_k":`, m.TopK)
		j.fraction(`"top_p":`, m.TopP)
	}
	j.end('}')
}

// isPlain reports whether JSON has a number without an exponent.
func isPlain(f *float64) bool { return f == nil || *f == 0 || (*f >= 1e-6 && *f < 1e21) }

func (j *versionJSON) variables(variables []prompt.Variable) {
	j.b = append(j.b, `,"variables":[`...)
	for i := range variables {
		switch v := &variables[i]; {
		case len(v.Default) > 0 || len(v.Enum) > 0:
			j.encode("", fromVariables(variables[i : i+1])[0])
		default:
			j.b = append(j.b, '{')
			j.text(`"description":`, v.Description)
			j.b = server.AppendText(j.b, `"name":`, v.Name)
			j.b = append(strconv.AppendBool(append(j.b, `,"required":`...), v.Required), ',')
			if v.Sensitive {
				j.b = append(j.b, `"sensitive":true,`...)
			}
			j.text(`"type":`, v.Type)
			j.end('}')
		}
		j.b = append(j.b, ',')
	}
	j.end(']')
}

// text, whole and fraction append a member, unless it is empty, and a comma.
func (j *versionJSON) text(name, s string) {
	if s != "" {
		j.b = append(server.AppendText(j.b, name, s), ',')
	}
}

func (j *versionJSON) whole(name string, n *int) {
	if n != nil {
		j.b = append(strconv.AppendInt(append(j.b, name...), int64(*n), 10), ',')
	}
}

func (j *versionJSON) fraction(name string, f *float64) {
	if f != nil {
		j.b = append(strconv.AppendFloat(append(j.b, name...), *f, 'f', -1, 64), ',')
	}
}
