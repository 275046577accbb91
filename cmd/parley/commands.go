package main

// commands is every command, in the order in which help shows them.
func commands() []*command {
	return []*command{
		demoCommand,
		serveCommand,
		stdioCommand,
		bridgeCommand,
		joinCommand,
		roomCommand,
		guestCommand,
		standinCommand,
		controlCommand,
		doctorCommand,
		benchCommand,
		replayCommand,
		modelsCommand,
		policyCommand,
		approvalsCommand,
		auditCommand,
		configCommand,
		versionCommand,
	}
}
