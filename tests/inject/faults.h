/* faults.h - where a run is, for faults aimed at a phase. */
#ifndef FAULTS_H
#define FAULTS_H

void fault_phase(const char *name); /* one of the names in faults.c */

#endif
