"""The model repository of a serving pod: pipeline models, the SLM's folder and their config.pbtxt."""
