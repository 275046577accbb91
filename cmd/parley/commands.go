package main

// commands is every command, in the order in which help shows them.
func commands() []*command {
	return []*command{
		roomCommand,
		guestCommand,
		modelsCommand,
		configCommand,
		versionCommand,
	}
}
