package main

// commands is every command, in the order in which help shows them.
func commands() []*command {
	return []*command{
		roomCommand,
		modelsCommand,
		configCommand,
		versionCommand,
	}
}
