package chat

import "github.com/atrium-hq/atrium/domain/fault"

// Errors about chat templates, their members and workflows.
var (
	ErrNotFound = &fault.Error{Kind: fault.NotFound, Code: "chat_template_not_found",
		Detail: "There is no such chat template."}
	ErrForbidden = &fault.Error{Kind: fault.Forbidden, Code: "chat_template_forbidden",
		Detail: "Your access to this chat template does not allow that."}

	ErrUnknownItem = &fault.Error{Kind: fault.Invalid, Code: "unknown_registry_item",
		Detail: "The registry does not offer one or more of these items. See errors."}
	ErrInvalidConfig = &fault.Error{Kind: fault.Invalid, Code: "invalid_item_config",
		Detail: "A configuration does not match the schema of its registry item. See errors."}
	ErrPromptUnavailable = &fault.Error{Kind: fault.Invalid, Code: "prompt_unavailable",
		Detail: "The prompt does not exist, or you cannot see it."}

	ErrMemberNotFound = &fault.Error{Kind: fault.NotFound, Code: "chat_member_not_found",
		Detail: "The chat template has no such member."}
	ErrAlreadyMember = &fault.Error{Kind: fault.Conflict, Code: "already_member",
		Detail: "That person is already a member."}
	ErrOwnerStays = &fault.Error{Kind: fault.Conflict, Code: "owner_stays",
		Detail: "The owner cannot leave or be removed. Transfer the chat template with owner_id first."}
	ErrMemberLimit = &fault.Error{Kind: fault.Conflict, Code: "member_limit_reached",
		Detail: "A chat template can have at most 200 members."}
	ErrUserNotInWorkspace = &fault.Error{Kind: fault.Invalid, Code: "user_not_in_workspace",
		Detail: "No member of this workspace matches."}
	ErrInvitationRole = &fault.Error{Kind: fault.Forbidden, Code: "invitation_role_required",
		Detail: "Only an owner or admin of the workspace can invite people from outside it."}

	ErrUnknownWorkflow = &fault.Error{Kind: fault.Invalid, Code: "unknown_workflow",
		Detail: "The registry does not offer that workflow."}
	ErrWorkflowNotAttached = &fault.Error{Kind: fault.NotFound, Code: "workflow_not_attached",
		Detail: "That workflow is not attached to the chat template."}
	ErrWorkflowLimit = &fault.Error{Kind: fault.Conflict, Code: "workflow_limit_reached",
		Detail: "A chat template can have at most 50 workflows."}
)
