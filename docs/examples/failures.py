"""Keeps errors, and with each, by its traceback, what the function had that raised it."""
import sys

failed = []


class Job:
    def __init__(self, number):
        self.number = number

    def run(self):
        rows = [f"row {self.number} {i}" for i in range(50)]
        raise ValueError(rows[0])


def work():
    for number in range(1500):
        try:
            Job(number).run()
        except ValueError as error:
            failed.append(error)


work()
print("ready", flush=True)
sys.stdin.read()
