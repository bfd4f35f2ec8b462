package prompts

import (
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func promptID(r *server.Call) prompt.ID {
	return server.PathID[prompt.ID](r, "prompt_template_id", prompt.Prefix)
}

func promptPath(id prompt.ID) string { return "/api/prompt-templates/" + string(id) }
