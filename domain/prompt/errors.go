package prompt

import "github.com/atrium-hq/atrium/domain/fault"

// Errors about prompt templates.
var (
	ErrNotFound = &fault.Error{Kind: fault.NotFound, Code: "prompt_template_not_found",
		Detail: "There is no such prompt template."}
	ErrForbidden = &fault.Error{Kind: fault.Forbidden, Code: "prompt_template_forbidden",
		Detail: "Your access to this prompt template does not allow that."}
	ErrNameTaken = &fault.Error{Kind: fault.Conflict, Code: "name_taken",
		Detail: "Another prompt template in this workspace has that name."}
	ErrActiveChanged = &fault.Error{Kind: fault.Conflict, Code: "active_changed",
		Detail: "The active version is not the one you expected."}
	ErrVersionNotFound = &fault.Error{Kind: fault.NotFound, Code: "prompt_version_not_found",
		Detail: "The prompt template has no such version."}
	ErrVersionFrozen = &fault.Error{Kind: fault.Conflict, Code: "version_frozen",
		Detail: "The version was activated or labelled, so its content can no longer change. Create a new version."}
	ErrVersionActive = &fault.Error{Kind: fault.Conflict, Code: "version_active",
		Detail: "The active version cannot be deleted. Activate another one first."}
	ErrVersionInRollout = &fault.Error{Kind: fault.Conflict, Code: "version_in_rollout",
		Detail: "The version is part of a rollout of a label. Move the label to one version first."}
	ErrRolloutLimit = &fault.Error{Kind: fault.Conflict, Code: "rollout_limit_reached",
		Detail: "At most 10 labels of a prompt template can have a rollout at once. End one first."}
	ErrLabelChanged = &fault.Error{Kind: fault.Conflict, Code: "label_changed",
		Detail: "The label is not on the version that you expected."}
	ErrLabelNotFound = &fault.Error{Kind: fault.NotFound, Code: "label_not_found",
		Detail: "No version of the prompt template has that label."}
	ErrLabelLimit = &fault.Error{Kind: fault.Conflict, Code: "label_limit_reached",
		Detail: "A version can have at most 10 labels."}
	ErrBaseOutdated = &fault.Error{Kind: fault.Conflict, Code: "base_outdated",
		Detail: "A newer version than base_version_id exists."}
	ErrContractBreak = &fault.Error{Kind: fault.Conflict, Code: "contract_break",
		Detail: "Applications that use the active version could fail with this one. See breaks. To activate it all " +
			"the same, set acknowledge_contract_break."}
	ErrGated = &fault.Error{Kind: fault.Conflict, Code: "activation_gated",
		Detail: "Versions of this prompt template need approvals or checks before they are activated. Create the " +
			"version, then activate it: that makes a request."}
	ErrRequestNotFound = &fault.Error{Kind: fault.NotFound, Code: "activation_request_not_found",
		Detail: "The prompt template has no such activation request."}
	ErrRequested = &fault.Error{Kind: fault.Conflict, Code: "activation_requested",
		Detail: "Another request to activate this version waits already."}
	ErrRequestEnded = &fault.Error{Kind: fault.Conflict, Code: "activation_request_ended",
		Detail: "The activation request no longer waits."}
	ErrRequestLimit = &fault.Error{Kind: fault.Conflict, Code: "activation_request_limit_reached",
		Detail: "At most 20 activation requests of a prompt template can wait at the same time."}
	ErrCheckLimit = &fault.Error{Kind: fault.Conflict, Code: "check_limit_reached",
		Detail: "A version can have at most 50 checks."}
	ErrInUse = &fault.Error{Kind: fault.Conflict, Code: "in_use",
		Detail: "Chat templates or other prompts use this prompt. used_by lists those that you can see."}

	ErrShareNotFound = &fault.Error{Kind: fault.NotFound, Code: "share_not_found",
		Detail: "The prompt template is not shared with that user."}
	ErrAlreadyShared = &fault.Error{Kind: fault.Conflict, Code: "already_shared",
		Detail: "The prompt template is already shared with that user."}
	ErrOwnerShare = &fault.Error{Kind: fault.Conflict, Code: "owner_share",
		Detail: "That user owns the prompt template and needs no share."}
	ErrShareLimit = &fault.Error{Kind: fault.Conflict, Code: "share_limit_reached",
		Detail: "A prompt template can be shared with at most 200 users."}
	ErrFolderForbidden = &fault.Error{Kind: fault.Forbidden, Code: "folder_forbidden",
		Detail: "Requires the manager role on the folder, or the admin role in the workspace."}
	ErrFolderShareNotFound = ErrShareNotFound.Because("There is no such share of a folder.")
	ErrUserNotInWorkspace  = &fault.Error{Kind: fault.Invalid, Code: "user_not_in_workspace",
		Detail: "No member of this workspace matches."}

	ErrIncludeNotFound = &fault.Error{Kind: fault.Invalid, Code: "include_not_found",
		Detail: "There is no released version of a prompt template that you can see with that name."}
	ErrIncludeNotText = &fault.Error{Kind: fault.Invalid, Code: "include_not_text",
		Detail: "Only prompts of type text can be included."}
	ErrIncludeCycle = &fault.Error{Kind: fault.Invalid, Code: "include_cycle",
		Detail: "The prompt would include itself, directly or through others."}
	ErrIncludeTooDeep = &fault.Error{Kind: fault.Invalid, Code: "include_too_deep",
		Detail: "Includes can be nested at most 5 levels deep."}
	ErrIncludeTooLarge = &fault.Error{Kind: fault.Invalid, Code: "include_too_large",
		Detail: "With its includes the prompt would have more than 256 KiB, 200 variables or 50 other prompts."}

	ErrUndeclaredVariable = &fault.Error{Kind: fault.Invalid, Code: "undeclared_variable",
		Detail: "The text uses variables that are not declared."}
	ErrUnsupportedSyntax = &fault.Error{Kind: fault.Invalid, Code: "unsupported_syntax",
		Detail: "The text is not valid in its format, or uses parents, blocks or lambdas."}
	ErrMissingVariables = &fault.Error{Kind: fault.Invalid, Code: "missing_variables",
		Detail: "Required variables have no value."}
	ErrInvalidVariables = &fault.Error{Kind: fault.Invalid, Code: "invalid_variables",
		Detail: "Some values do not match the declaration of their variable. See errors."}
	ErrRenderTooLarge = &fault.Error{Kind: fault.Invalid, Code: "render_too_large",
		Detail: "The rendered prompt is larger than 1 MiB."}
)
