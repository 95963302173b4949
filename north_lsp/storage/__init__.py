"""Every file that North keeps: conversations, settings, approvals, logs."""
