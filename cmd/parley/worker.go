package main

const workerCommand = "worker"

func workerMain() int { return exitUsage }
