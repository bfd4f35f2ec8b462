package chat

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// MaxWorkflows is a template's maximum number of workflows.
const MaxWorkflows = 50

// Workflow is a workflow of the registry that a template's chats may start.
type Workflow struct {
	ID         string          `json:"workflow_id"`
	AttachedBy identity.UserID `json:"attached_by"`
	AttachedAt time.Time       `json:"attached_at"`
}

// Attach attaches a workflow of the registry to the draft. isAttached is false if it was attached already.
func (t *Template) Attach(by identity.Actor, workflow string, r *Registry) (w Workflow, isAttached bool, err error) {
	if err := t.Allow(by, access.Editor); err != nil {
		return Workflow{}, false, err
	}
	if i := t.workflow(workflow); i >= 0 {
		return t.Workflows[i], false, nil
	}
	switch item, ok := r.Workflow(workflow); {
	case !ok || item.Status == ItemDisabled:
		return Workflow{}, false, ErrUnknownWorkflow
	case len(t.Workflows) >= MaxWorkflows:
		return Workflow{}, false, ErrWorkflowLimit
	}
	w = Workflow{ID: workflow, AttachedBy: by.User, AttachedAt: by.At}
	t.Workflows = append(t.Workflows, w)
	t.Record(by, "chat_workflow.attached", string(t.ID), map[string]any{"workflow_id": workflow})
	t.Touch(by)
	return w, true, nil
}

// Detach removes a workflow from the draft, whether the registry still has it or not.
func (t *Template) Detach(by identity.Actor, match revision.Match, workflow string) error {
	if err := t.Allow(by, access.Editor); err != nil {
		return err
	}
	i := t.workflow(workflow)
	if i < 0 {
		return ErrWorkflowNotAttached
	}
	if err := match.Check(t.Revision); err != nil {
		return err
	}
	t.Workflows = slices.Delete(slices.Clone(t.Workflows), i, i+1)
	t.Record(by, "chat_workflow.detached", string(t.ID), map[string]any{"workflow_id": workflow})
	t.Touch(by)
	return nil
}

// Workflow returns the attached workflow with an id, or ErrWorkflowNotAttached.
func (t *Template) Workflow(id string) (Workflow, error) {
	i := t.workflow(id)
	if i < 0 {
		return Workflow{}, ErrWorkflowNotAttached
	}
	return t.Workflows[i], nil
}

// sameWorkflows reports whether two lists have the same workflows, in any order.
func sameWorkflows(a, b []Workflow) bool {
	return slices.Equal(slices.Sorted(slices.Values(WorkflowIDs(a))), slices.Sorted(slices.Values(WorkflowIDs(b))))
}

// WorkflowIDs returns the ids of workflows.
func WorkflowIDs(list []Workflow) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = w.ID
	}
	return out
}

func (t *Template) workflow(id string) int {
	return slices.IndexFunc(t.Workflows, func(w Workflow) bool { return w.ID == id })
}
